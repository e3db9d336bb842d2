//! `Reliable` in the simulator.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]
#![cfg(feature = "reliable")]

mod bad_paths;
#[cfg(feature = "qlog")]
mod qlog;
