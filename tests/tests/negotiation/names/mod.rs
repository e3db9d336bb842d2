//! Connecting to names: the resolution of names, names with several addresses, and reconnecting.

mod addresses;
#[cfg(feature = "dns")]
mod dns;
#[cfg(feature = "etcd")]
mod etcd;
mod kernel;
mod reconnecting;
