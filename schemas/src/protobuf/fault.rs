//! The faults of messages.

use crate::{NoRoom, Outside};
use std::fmt;

/// A fault of a message. Fields are named by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A part of the message lies outside of the memory.
    Outside(Outside),
    /// There is no room for the message.
    NoRoom,
    /// The encoded message would have, or has, more bytes than this limit.
    Long(usize),
    /// The message takes more bytes of memory than this limit.
    Large(usize),
    /// Messages lie in messages deeper than this limit.
    Deep(u32),
    /// The text of this field is not UTF-8.
    NotText(u32),
    /// This field is encoded as another type.
    OtherType(u32),
    /// The encoded message ends in the middle of a field.
    Unfinished,
    /// The encoded message has a number, a kind of value or an end of a group that no encoder writes.
    Malformed,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside(outside) => write!(f, "a part of the message is not there: {outside}"),
            Self::NoRoom => fmt::Display::fmt(&NoRoom, f),
            Self::Long(limit) => write!(f, "the encoded message has more than {limit} bytes"),
            Self::Large(limit) => write!(f, "the message takes more than {limit} bytes of memory"),
            Self::Deep(limit) => write!(f, "the message has more than {limit} levels of messages"),
            Self::NotText(field) => write!(f, "the text of field {field} is not UTF-8"),
            Self::OtherType(field) => write!(f, "field {field} is encoded as another type"),
            Self::Unfinished => f.write_str("the encoded message ends within a field"),
            Self::Malformed => f.write_str("the encoded message is malformed"),
        }
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Outside(outside) => Some(outside),
            _ => None,
        }
    }
}

impl From<Outside> for Fault {
    fn from(outside: Outside) -> Self {
        Self::Outside(outside)
    }
}

impl From<NoRoom> for Fault {
    fn from(_: NoRoom) -> Self {
        Self::NoRoom
    }
}
