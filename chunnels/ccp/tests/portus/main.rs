//! Programs and messages, compared with those of portus.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

#[path = "../compiled/mod.rs"]
mod compiled;
mod messages;
mod programs;
#[cfg(feature = "agent")]
mod python;
