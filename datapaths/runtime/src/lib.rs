//! The common part of datapaths.
//!
//! * [`polling`]: connections that share a source of messages: which message belongs to which connection, which
//!   future waits for it, and which future polls the source.
//! * [`Shares`]: places that parties share, so that none keeps the others out.
//! * `tokio`, with the feature `tokio`: tokio as the runtime below a connection.
//! * `settings`, with the feature `settings`: the settings of a datapath, from TOML and the environment.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod polling;
#[cfg(feature = "settings")]
pub mod settings;
mod shares;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use shares::{Shares, gets_another};
