//! Calls from an application to another of a machine with a daemon of its own.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod calls;
#[cfg(feature = "dpdk")]
mod dpdk;
#[path = "../from_address/mod.rs"]
mod from_address;
#[path = "../hotel/mod.rs"]
mod hotel;
mod rows;
