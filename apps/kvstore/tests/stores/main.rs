//! Whole stores, with clients of this crate.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

mod damaged;
mod encrypted;
mod kernel;
mod routing;
mod scans;
mod server;
