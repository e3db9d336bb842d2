//! A key-value store, split into shards that each belong to one thread.
//!
//! [`Message`] is what travels in both directions, and [`Store`] holds the records of one shard and turns each
//! request into its reply. Neither knows how messages reach it.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod contiguous;
mod protocol;
mod store;

pub use protocol::{Body, MAX_KEY, MAX_VALUE, Message, Reason};
pub use store::{Capacity, Store};
