//! The end that answers.

mod handler;
mod handlers;
mod outbox;
mod panics;
mod serve;
mod service;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests;
mod woken;

pub use handler::{Handler, handler};
pub use serve::{Serve, serve};
pub use service::{Reply, Request, Service};
