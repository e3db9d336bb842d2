//! The reasons for which bytes are no message.

use bertha_core::{Error, ErrorKind};
use std::fmt;

/// The reason for which bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The bytes end before the message does.
    Truncated,
    /// The message is longer than its contents.
    TrailingBytes,
    /// No message has this type.
    UnknownType(u16),
    /// No message has this length.
    Length(u16),
    /// A message has more items than allowed.
    TooMany {
        /// The kind of item.
        what: &'static str,
        /// Number of items.
        count: u32,
    },
    /// No operation has this code.
    UnknownOperation(u8),
    /// No kind of register has this code.
    UnknownRegister(u8),
    /// An instruction writes to a constant or a signal.
    ReadOnly(super::Register),
    /// An update names a register that an agent must not set.
    NotUpdatable(super::Register),
    /// The name of an algorithm has more than 63 bytes, or contains a zero.
    Name,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "a message ends too early"),
            Self::TrailingBytes => write!(f, "a message is longer than its contents"),
            Self::UnknownType(kind) => write!(f, "no message has the type {kind}"),
            Self::Length(length) => write!(f, "no message has {length} bytes"),
            Self::TooMany { what, count } => write!(f, "{count} {what} are too many for one message"),
            Self::UnknownOperation(code) => write!(f, "no operation has the code {code}"),
            Self::UnknownRegister(code) => write!(f, "no kind of register has the code {code}"),
            Self::ReadOnly(register) => write!(f, "an instruction writes to {register:?}"),
            Self::NotUpdatable(register) => write!(f, "an agent must not set {register:?}"),
            Self::Name => write!(f, "the name of an algorithm has at most 63 bytes, none of them zero"),
        }
    }
}

impl std::error::Error for Malformed {}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Self::new(ErrorKind::Malformed, malformed.to_string()).at("CCP")
    }
}
