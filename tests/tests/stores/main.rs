//! The conformance suite over every rendezvous store.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod memory;
mod secured;
mod servers;
mod taken_port;
