//! The log of a program.

use std::io::{IsTerminal, stderr};
use tracing::Level;
use tracing_subscriber::EnvFilter;

/// Writes the program's log to stderr from now on: warnings and errors, or the levels that the environment
/// variable `RUST_LOG` names.
///
/// # Panics
/// Panics if the program has a log already.
pub fn to_stderr() {
    tracing_subscriber::fmt()
        .with_writer(stderr)
        // Colours are for people.
        .with_ansi(stderr().is_terminal())
        .with_env_filter(EnvFilter::builder().with_default_directive(Level::WARN.into()).from_env_lossy())
        .init();
}
