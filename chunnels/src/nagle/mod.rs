//! Messages in bursts, for what has a price per call.
//!
//! [`Nagle`] gathers the messages of several `send`s and hands them down as one burst, once there are enough or the first has waited long
//! enough; and it receives in bursts, from which the next `recv`s are served. It is for layers that do a burst in fewer calls than its
//! messages: cloud services, which bill calls, and system calls. It looks at no message, so it stands anywhere in a stack, above
//! serialisation too, needs no counterpart at the other end, and changes nothing on the wire.
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
//! # Which calls it saves
//!
//! Over a queue, `n` messages that come with a pause of `p` between them are published by one call for each `1 + wait / p` of them, at
//! most [`messages`](Nagle::messages); and so received and acknowledged, if the receiver has this Chunnel, too, or receives in
//! bursts itself. A message waits for up to [`wait`](Nagle::wait): it is the price.
//!
//! [`Batch`](crate::Batch) makes one message of several instead, which saves the datapath's messages and not only calls, but needs bytes, and a
//! `Batch` at the other end.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | [`messages`](Nagle::messages) | 10, the batch of SQS |
//! | [`wait`](Nagle::wait) | 25 milliseconds |
//! | messages that wait below | 16 bursts, fixed |

mod chunnel;
mod connection;
mod gathered;

pub use chunnel::Nagle;
pub use connection::NagleConnection;

#[cfg(test)]
mod tests;
