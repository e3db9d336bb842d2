//! Transfer of files from a machine to another, whole or not at all.
//!
//! A [`Receiver`] keeps files in a directory. [`send`](send()) offers it a file. Both hash the bytes that
//! pass, and the file gets its name only when the two hashes agree. The part that has arrived when a
//! connection breaks stays in a file of its own; the next connection continues behind it, once both ends know
//! that it is the beginning of this file ([`message`]).
//!
//! Neither end holds more of a file in memory than the connection's buffers, whatever its size.
//!
//! The module [`stack`] defines the stack that carries the messages: over datagrams Chunnels order, split and
//! repeat them, or, with the feature `quic`, QUIC does; over TCP the datapath does.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod blocking;
mod digest;
mod error;
pub mod message;
mod name;
mod persistence;
mod receive;
mod send;
pub mod stack;

pub use digest::Digest;
pub use error::Error;
pub use message::{Message, Refusal};
pub use name::Name;
pub use receive::{Kept, Receiver};
pub use send::{Progress, Sending, Sent, send};
