//! The common part of Bertha's programs.

#![forbid(unsafe_code)]

pub mod exit;
#[cfg(feature = "log")]
pub mod log;
mod termination;
#[cfg(feature = "tls")]
pub mod tls;

pub use termination::Termination;
