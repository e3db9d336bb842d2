//! The conformance suite over every rendezvous store.

mod memory;
mod secured;
mod servers;
mod taken_port;
