//! Connecting to names: their resolution, several addresses, and connections that are made again.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod addresses;
#[cfg(feature = "dns")]
mod dns;
#[cfg(feature = "etcd")]
mod etcd;
mod kernel;
mod reconnecting;
