//! Messages in bursts, for layers whose calls have a price.
//!
//! [`Nagle`] gathers the messages of several `send`s and hands them down as one burst, by Nagle's algorithm:
//! a message goes at once if the connection below is idle, and messages that come while it is busy go
//! together when it is done. On request, messages also [wait](Nagle::wait) for further messages. It receives
//! in bursts, from which the next `recv`s are served.
//!
//! It is for layers that handle a burst in fewer calls than its number of messages: cloud services, which
//! bill calls, and system calls. It reads no message, so it stands anywhere in a stack, above serialisation
//! too, needs no counterpart at the other end, and changes nothing on the wire.
//!
//! ```
//! use bertha_chunnels::{Nagle, Serialize};
//! use bertha_core::make_stack;
//! use std::time::Duration;
//!
//! let stack = make_stack!(
//!     Nagle::new().messages(10).wait(Duration::from_millis(25)),
//!     Serialize::<String>::new(),
//! );
//! ```
//!
//! # The saved calls
//!
//! Over a queue, messages that come with a pause of `p` between them are published by one call for each `1 +
//! t / p` messages, at most [`messages`](Nagle::messages), where `t` is the time that a call takes or, if it
//! is longer, [`wait`](Nagle::wait). A message waits for up to `t`: for the call before it, whose messages
//! were not stored earlier either, and for further messages only if `wait` requests it.
//!
//! If the receiver has this Chunnel too, or receives in bursts itself, it takes all messages that have come
//! with one call, and acknowledges messages of several calls together, which delays no one else.
//!
//! [`Batch`](crate::Batch) joins several messages into one instead, which saves messages of the datapath and
//! not only calls, but needs bytes, and a `Batch` at the other end.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | [`messages`](Nagle::messages) | 10, the batch of SQS |
//! | [`wait`](Nagle::wait) | none |
//! | messages that wait below | 16 bursts, fixed |

mod chunnel;
mod connection;
mod gathered;
mod statistics;

pub use chunnel::Nagle;
pub use connection::NagleConnection;
pub use statistics::NagleStatistics;

#[cfg(test)]
mod tests;
