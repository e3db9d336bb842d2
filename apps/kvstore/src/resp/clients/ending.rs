//! The reasons for which the store ends a connection.

use std::fmt;

/// The reason for which the store ends the connection of a client that has not asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::resp) enum Ending {
    /// The client said nothing for too long.
    Idle,
    /// The client did not go on with a command.
    HalfCommand,
    /// The place is for another client.
    Places,
    /// The descriptor is for another client.
    Descriptors,
    /// The unfinished commands of all clients take too much memory.
    Unfinished,
    /// The unsent replies of all clients take too much memory.
    Unsent,
    /// The client sends commands and reads no replies.
    Behind,
    /// The client is a browser.
    Web,
}

impl Ending {
    /// All reasons, in the order of their counters.
    pub(in crate::resp) const ALL: [Self; 8] = [
        Self::Idle,
        Self::HalfCommand,
        Self::Places,
        Self::Descriptors,
        Self::Unfinished,
        Self::Unsent,
        Self::Behind,
        Self::Web,
    ];

    /// The name in `INFO`.
    pub(in crate::resp) fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::HalfCommand => "half_command",
            Self::Places => "places",
            Self::Descriptors => "descriptors",
            Self::Unfinished => "unfinished_commands",
            Self::Unsent => "unsent_replies",
            Self::Behind => "unread_replies",
            Self::Web => "web",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "the client was idle for longer than --resp-idle allows",
            Self::HalfCommand => "the client began a command and did not go on with it",
            Self::Places => "all places are taken, and this client was idle for the longest time",
            Self::Descriptors => {
                "the process has no file descriptor left, and this client was idle for the longest time"
            }
            Self::Unfinished => "unfinished commands take all the memory that there is for them, this one the most for the longest time",
            Self::Unsent => "unsent replies take all the memory that there is for them, these the most for the longest time",
            Self::Behind => "the client sends commands and does not read the replies to earlier ones",
            Self::Web => "the client speaks HTTP: a web page may have sent these commands",
        })
    }
}
