//! The directory as a process.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic to fail, and say what they skip")]

mod in_flight;
mod services;
