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
    /// The directory does not answer, or none runs.
    NoDirectory,
    /// The directory knows no such service on this machine.
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
            Self::NotRegistered => f.write_str("the directory knows no such service on this machine"),
            Self::User(user) => write!(f, "no memory is shared with user {user}"),
            Self::AnotherProcess => f.write_str("the directory names another process than the peer"),
            Self::NotVisited => f.write_str("the client has not visited this service"),
            Self::Peer => f.write_str("the other end takes it"),
            Self::NoMemory => f.write_str("the memory did not change hands"),
        }
    }
}
