//! The way that messages take, and the reason.

use std::fmt;

/// The way that the messages of a connection take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Through memory that both ends share.
    Memory,
    /// Over the connection below.
    Network(Reason),
}

/// The reason for which a connection uses no shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The directory does not answer, or none runs, or its socket is not in the mount namespace of this process.
    NoDirectory,
    /// The directory refuses, since it has no room, or the service does not read its visitors.
    DirectoryRefuses,
    /// The directory knows no such service on this machine: the service is on another machine, or it has not registered the address
    /// to which the client has connected.
    NotRegistered,
    /// This process shares no memory with the user of the other process.
    User(u32),
    /// The directory names another process than the one behind the connection: a relay stands between the two, or a stranger has
    /// registered what belongs to the service.
    AnotherProcess,
    /// The client has not visited this service.
    NotVisited,
    /// The other end has decided so.
    Peer,
    /// The memory did not change hands.
    NoMemory,
}

impl Reason {
    /// Returns the number by which this end tells the other end.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::NoDirectory => 1,
            Self::NotRegistered => 2,
            Self::User(_) => 3,
            Self::AnotherProcess => 4,
            Self::NotVisited => 5,
            Self::NoMemory => 6,
            Self::Peer => 7,
            Self::DirectoryRefuses => 8,
        }
    }

    /// Returns what the other end has said by a number, if this end knows the number.
    pub(super) fn of_peer(code: u8) -> Option<&'static str> {
        Some(match code {
            1 => "its directory does not answer",
            2 => "the directory of its machine knows no such service",
            3 => "it shares no memory with the user of this process",
            4 => "the directory names another process than the peer",
            5 => "the client has not visited this service",
            6 => "the memory did not change hands",
            8 => "the directory of its machine refuses",
            _ => return None,
        })
    }
}

/// A reason, and what else this end knows about it.
#[derive(Debug)]
pub(super) struct Far {
    pub(super) reason: Reason,
    detail: Option<String>,
}

impl Far {
    /// Adds what this end knows about the reason.
    pub(super) fn with(self, detail: impl fmt::Display) -> Self {
        Self { detail: Some(detail.to_string()), ..self }
    }
}

impl From<Reason> for Far {
    fn from(reason: Reason) -> Self {
        Self { reason, detail: None }
    }
}

impl fmt::Display for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, " ({detail})"))
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("shared memory"),
            Self::Network(reason) => write!(f, "the connection below: {reason}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDirectory => f.write_str("the directory of the machine does not answer"),
            Self::DirectoryRefuses => f.write_str("the directory of the machine refuses"),
            Self::NotRegistered => f.write_str("the directory knows no such service on this machine"),
            Self::User(user) => write!(f, "no memory is shared with user {user}"),
            Self::AnotherProcess => f.write_str("the directory names another process than the peer"),
            Self::NotVisited => f.write_str("the client has not visited this service"),
            Self::Peer => f.write_str("the other end shares no memory"),
            Self::NoMemory => f.write_str("the memory did not change hands"),
        }
    }
}
