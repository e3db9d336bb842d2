//! The program itself: whole files, broken connections, full disks, wrong hashes, damage on the way, other
//! transports, and machines with a bad network between them.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod broken;
mod damaged;
mod encrypted;
mod ending;
mod full;
mod hashes;
mod metrics;
mod namespaces;
mod program;
#[cfg(feature = "quic")]
mod quic;
mod whole;
