//! The messages of `perf` and `ping`, and the server that answers both.
//!
//! Each message is self-describing, so that messages go over stacks that lose and reorder.

mod answering;
mod message;
mod refusals;
mod sending;
mod server;
mod tally;

pub(crate) use message::{Kind, Order, Probe, Report, SHORTEST, mark};
pub(crate) use sending::{Transferred, goes_on, longest, send_for};
pub(crate) use server::serve;
pub(crate) use tally::Tally;
