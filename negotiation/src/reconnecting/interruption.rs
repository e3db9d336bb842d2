//! A connection that was lost, as its user hears of it.

use bertha_core::ErrorKind;
use std::fmt;
use std::ops::Range;

/// A connection was lost, and with it perhaps messages.
///
/// Of the messages [`in_doubt`](Self::in_doubt) nobody knows which have arrived: each was handed to the connection that was lost, and
/// none was [confirmed](super::Reconnecting::confirm). Without confirmations they are all that were sent over it, which is the most that
/// an end can say by itself. Messages of the peer may be missing too; only the peer can say which.
///
/// Losses of which the application had not heard yet are told as one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interruption {
    /// The numbers, as [`send`](super::Reconnecting::send) returned them, of the messages that may or may not have arrived.
    pub in_doubt: Range<u64>,
    /// The number of connections that were lost: one, or more if the application did not ask in between.
    pub lost: u64,
    /// The kind of error with which the last of them ended.
    pub kind: ErrorKind,
    /// The text of that error.
    pub cause: String,
}

impl Interruption {
    /// The number of messages in doubt.
    pub fn count(&self) -> u64 {
        self.in_doubt.end.saturating_sub(self.in_doubt.start)
    }
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lost, cause, .. } = self;
        let connections =
            if *lost == 1 { "the connection was".into() } else { format!("{lost} connections were") };
        write!(f, "{connections} lost with {} messages in doubt: {cause}", self.count())
    }
}

/// The next of a [`Reconnecting`](super::Reconnecting) connection's receptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received<T> {
    /// A message, or the number of those of a burst.
    Message(T),
    /// The connection was lost since the last reception. Another one takes its place with the next call.
    Interrupted(Interruption),
}
