//! Messages in the order in which they were sent, over a connection that may reorder them.
//!
//! * [`Ordered`] keeps one order for all messages.
//! * [`OrderedByKey`] keeps only the order of messages with the same key, or group: a missing message delays
//!   its own group only.
//! * [`ServiceOrdered`] leaves the order of messages with the same key to the messaging service below, which
//!   keeps it for any number of receivers that share a subscription. The two Chunnels above need a single
//!   receiver there: each message goes to one of the receivers that share them, so all other receivers would
//!   wait for it.
//!
//! ```
//! use bertha_chunnels::{Ordered, OrderedByKey, Reliable};
//! use bertha_core::make_stack;
//!
//! let all_in_order = make_stack!(Ordered::new(), Reliable::new());
//! // The first four bytes of a message are the number of an account.
//! let by_account = make_stack!(OrderedByKey::new(|message| message.get(..4).unwrap_or_default()), Reliable::new());
//! ```
//!
//! # Over a stack that loses messages
//!
//! Both Chunnels [need](bertha_core::guarantee) a reliable stack below, such as [`Reliable`](crate::Reliable)
//! or a stream: a message that never arrives would delay all later messages. Connections over any other stack
//! are refused, unless [`Ordered::skip_after`] gives the number of later messages after which a missing
//! message is skipped: messages then arrive in order, with gaps. Without it, should the stack below lose a
//! message after all, `recv` fails with [`Invalid`](bertha_core::ErrorKind::Invalid) once the buffer is full:
//! no loss is silent, and nothing grows without bound.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | [`capacity`](Ordered::capacity) | 8,192 messages |
//! | [`skip_after`](Ordered::skip_after) | never |
//! | [`groups`](OrderedByKey::groups), the same at both ends | 1,024 |

mod by_key;
mod by_service;
mod chunnel;
mod connection;
mod sequence;
mod service_connection;
mod statistics;
#[cfg(test)]
mod tests;

pub use by_key::OrderedByKey;
pub use by_service::ServiceOrdered;
pub use chunnel::Ordered;
pub use connection::OrderedConnection;
pub use service_connection::ServiceOrderedConnection;
pub use statistics::OrderedStatistics;
