//! The end that answers.

mod context;
mod due;
mod generated;
mod handler;
mod handlers;
mod leaving;
mod open_calls;
mod outbox;
mod panics;
mod requests;
mod serve;
mod served_calls;
mod service;
mod shutdown;
mod statistics;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests;
mod waiting;
mod woken;

pub use context::Context;
#[doc(hidden)]
pub use generated::Responding;
pub use handler::{Handler, handler, handler_with_context};
pub(super) use outbox::refusal;
pub use requests::Requests;
pub use serve::{Serve, serve};
pub use served_calls::ServedCalls;
pub use service::{Or, Reply, Request, Service};
pub use shutdown::Shutdown;
pub use statistics::ServeStatistics;
