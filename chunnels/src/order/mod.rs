//! Messages in the order in which they were sent, over a connection that may reorder them.
//!
//! * [`Ordered`] keeps one order for all messages.
//! * [`OrderedByKey`] keeps the order of messages with the same key, or group, only: one that is missing holds up nothing
//!   but its own group.
//!
//! ```
//! use bertha_chunnels::{Ordered, OrderedByKey, Reliable};
//! use bertha_core::make_stack;
//!
//! let all_in_order = make_stack!(Ordered::new(), Reliable::new());
//! // The first four bytes of a message say which account it is about.
//! let by_account = make_stack!(OrderedByKey::new(|message| message.get(..4).unwrap_or_default()), Reliable::new());
//! ```
//!
//! # Over a stack that loses messages
//!
//! Both [need](bertha_core::guarantee) a stack below that is reliable, such as [`Reliable`](crate::Reliable) or a stream:
//! a message that never comes would hold up all others. Connections over anything else are refused. [`Ordered::skip_after`] says after how many later messages it is
//! given up: what arrives is then in order, with gaps. Without it, a gap that others don't close is an error
//! ([`Invalid`](bertha_core::ErrorKind::Invalid)) as soon as the buffer is full, should the stack below not keep its promise;
//! nothing is lost silently, and nothing grows without bound.

mod by_key;
mod chunnel;
mod connection;
mod sequence;
#[cfg(test)]
mod tests;

pub use by_key::OrderedByKey;
pub use chunnel::Ordered;
pub use connection::OrderedConnection;
