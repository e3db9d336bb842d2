//! The reasons why a descriptor set is no schema.

use super::Schema;
use std::fmt;

/// The reason why a descriptor set is no schema. Names are those of the set.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Unsuitable {
    /// The set has more bytes than [`Schema::LONGEST`].
    Long(usize),
    /// The bytes are no descriptor set.
    Malformed(prost::DecodeError),
    /// This part of the set lacks what each has, or has a name that no compiler writes.
    Incomplete(String),
    /// Two parts of the set have this name.
    Twice(String),
    /// The number is out of range, or another field of the message has it.
    Number {
        /// The field.
        field: String,
        /// Its number.
        number: i32,
    },
    /// The set lacks a type.
    Missing {
        /// The type.
        name: String,
        /// The field or method that names it.
        by: String,
    },
    /// This type, group or extension is not of proto3.
    NotProto3(String),
    /// The full name has more than 255 letters.
    Name(String),
    /// The schema has more methods, messages, fields or values of an enumeration than [`Schema`] states.
    Many,
    /// No service of the set has a method.
    Empty,
}

impl fmt::Display for Unsuitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long(bytes) => write!(f, "the schema has {bytes} bytes, and may have {}", Schema::LONGEST),
            Self::Malformed(_) => f.write_str("the bytes are no descriptor set of protobuf"),
            Self::Incomplete(part) => write!(f, "{part} is incomplete, or has a name that is none"),
            Self::Twice(name) => write!(f, "the schema has `{name}` twice"),
            Self::Number { field, number } => {
                write!(f, "`{field}` has the number {number}, which is out of range or taken")
            }
            Self::Missing { name, by } => write!(
                f,
                "`{by}` needs `{name}`, which the descriptor set lacks: include imports when it is compiled"
            ),
            Self::NotProto3(name) => write!(f, "`{name}` is not of proto3"),
            Self::Name(name) => write!(f, "the name `{name}` has more than 255 letters"),
            Self::Many => write!(
                f,
                "the schema has more than {} methods, {} messages, {} fields or {} values of an enumeration",
                Schema::METHODS,
                Schema::MESSAGES,
                Schema::FIELDS,
                Schema::VALUES
            ),
            Self::Empty => f.write_str("no service of the descriptor set has a method"),
        }
    }
}

impl std::error::Error for Unsuitable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            _ => None,
        }
    }
}
