//! The end that answers.

mod handler;
mod handlers;
mod outbox;
mod panics;
mod serve;
mod served_calls;
mod service;
mod statistics;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests;
mod woken;

pub use handler::{Handler, handler};
pub use serve::{Serve, serve};
pub use served_calls::ServedCalls;
pub use service::{Reply, Request, Service};
pub use statistics::ServeStatistics;
