//! Participants as processes, over stores and messaging services.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

#[cfg(feature = "redis")]
mod lost_store;
mod processes;
mod services;
