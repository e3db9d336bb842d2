//! A bounded queue of messages in memory that a hostile process may write to at any time. Without I/O: it works on any slice of
//! [words](Word).
//!
//! ```text
//!  data:  | header 1 | payload ... | header 2 | payload ... | 0 | free ...
//!          ^ consumer                                         ^ producer
//! ```
//!
//! A message is a header, its length plus one, and its payload, in words of eight bytes; both wrap around the end. The first
//! header that is zero ends the queue. So the consumer waits at the word that lies beside the payload: a short message
//! takes one cache line from core to core, where an index of its own would take two. The producer writes the zero behind a message
//! before its header, so old payload is never taken for a header.
//!
//! Each end keeps its position to itself. The one index that is shared is how far the consumer has come, which the producer
//! reads when it seems to lack room. It must not lie behind what it was or before what was written; else the other end has broken
//! the rules, which ends the connection. A header must name a length within the limit; whatever lies there is then copied,
//! so a wrong one costs its sender a wrong message.

mod consumer;
mod layout;
mod producer;
mod word;

pub use consumer::Consumer;
pub use layout::{Direction, Layout, Ring};
pub use producer::Producer;
use std::fmt;
pub use word::Word;

/// The other end wrote something that no honest end does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A message is announced that is longer than messages may be.
    Length(u64),
    /// The consumer claims to have come to a place where it can't be.
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
