//! What a server receives and sends.

use crate::resp::Command;
use crate::resp::wire::Replies;

/// What goes over a connection, as the server sees it.
#[derive(Debug)]
pub enum Frame {
    /// A client sends it.
    Command(Command),
    /// The server sends them: those of several commands at once.
    Replies(Replies),
}
