//! The conformance suite over every rendezvous store.

#[cfg(feature = "redis")]
pub(crate) mod foreign_hands;
mod memory;
mod secured;
mod servers;
mod taken_port;
