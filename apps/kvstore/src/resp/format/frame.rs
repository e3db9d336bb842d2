//! The frames that a server receives and sends.

use crate::resp::Command;
use crate::resp::wire::Replies;

/// A frame of a connection, as the server sees it.
#[derive(Debug)]
pub enum Frame {
    /// A client sends it.
    Command(Command),
    /// The server sends them: those of several commands at once.
    Replies(Replies),
}
