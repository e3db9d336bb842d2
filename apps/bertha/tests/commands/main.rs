//! The commands, as processes.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

#[cfg(feature = "redis")]
mod inspect;
mod measuring;
mod rpcd;
#[cfg(feature = "tcp")]
mod tcp;
mod top;
