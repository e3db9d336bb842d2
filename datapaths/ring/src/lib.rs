//! A bounded queue of messages in memory that a hostile process may write to at any time. The queue is
//! without I/O: it works on any slice of [words](Word).
//!
//! ```text
//!  data:  | header 1 | payload ... | header 2 | payload ... | 0 | free ...
//!          ^ consumer                                         ^ producer
//! ```
//!
//! A message is a header, its length plus one, and its payload, in words of eight bytes; both wrap around the
//! end. The first zero header ends the queue. So the consumer waits at the word that lies beside the payload:
//! a short message takes a single cache line from core to core, where a separate index would take two lines.
//! The producer writes the zero behind a message before the message's header, so old payload is never taken
//! for a header.
//!
//! Each end keeps its position to itself. The only shared index is the consumer's progress, which the
//! producer reads when it seems to lack room. The index must lie neither behind its previous value nor beyond
//! what was written; otherwise the peer has broken the rules, which ends the connection. A header must name a
//! length within the limit; the bytes behind it are copied whatever they are, so a wrong header costs its
//! sender a wrong message.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod consumer;
mod cursor;
mod layout;
mod producer;
mod word;

pub use consumer::Consumer;
pub use cursor::Cursor;
pub use layout::{Direction, Layout, Ring};
pub use producer::Producer;
use std::fmt;
pub use word::Word;

/// A violation of the rules: the peer wrote something that no honest end writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The peer announced a message that is longer than messages may be.
    Length(u64),
    /// The peer's consumer claims a position where it can't be.
    Position(u64),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(header) => write!(f, "it announced a message by the header {header}"),
            Self::Position(at) => write!(f, "it claimed to have received up to word {at}"),
        }
    }
}

#[cfg(test)]
mod tests;
