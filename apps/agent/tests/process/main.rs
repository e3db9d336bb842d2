//! Flows over real sockets, whose agent is another process.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod agent;
mod flow;
mod hostile;
mod metrics;
mod presence;
mod programs;
mod python;
mod refusals;
mod skip;
