//! The end that answers.

mod handler;
mod handlers;
mod serve;
mod service;
mod woken;

pub use handler::{Handler, handler};
pub use serve::{Serve, serve};
pub use service::{Reply, Request, Service};
