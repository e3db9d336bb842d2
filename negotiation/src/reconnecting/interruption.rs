//! The report of a lost connection.

use bertha_core::ErrorKind;
use std::fmt;
use std::ops::Range;

/// The report that a connection was lost, and perhaps messages with it.
///
/// It is unknown which of the messages [`in_doubt`](Self::in_doubt) have arrived: each message was handed to
/// the lost connection, and none was [confirmed](super::Reconnecting::confirm). Without confirmations these
/// are all messages that were sent over it, since an end alone knows no more. Messages of the peer may be
/// missing too; only the peer knows them.
///
/// All losses since the application's last report come as one report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interruption {
    /// The numbers, as [`send`](super::Reconnecting::send) returned them, of the messages that may have
    /// arrived or not.
    pub in_doubt: Range<u64>,
    /// The number of connections that were lost: one, or more if several were lost since the last report.
    pub lost: u64,
    /// The kind of error with which the last of these connections was cut. It is
    /// [`Closed`](ErrorKind::Closed) only if the peer has closed all of them in order.
    pub kind: ErrorKind,
    /// The text of that error.
    pub cause: String,
}

impl Interruption {
    /// Returns the number of messages in doubt.
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

/// The result of a reception of a [`Reconnecting`](super::Reconnecting) connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received<T> {
    /// A message, or the number of messages in a burst.
    Message(T),
    /// The connection was lost since the last reception. The next call makes another connection.
    Interrupted(Interruption),
}
