//! Connecting to names: the resolution of names, names with several addresses, and reconnecting.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod addresses;
#[cfg(feature = "dns")]
mod dns;
#[cfg(feature = "etcd")]
mod etcd;
mod kernel;
mod reconnecting;
