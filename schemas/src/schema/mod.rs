//! A checked schema.

mod alone;
mod collect;
mod difference;
mod parts;
mod read;
mod text;
mod unsuitable;

pub use difference::Difference;
use sha2::{Digest as _, Sha256};
use std::fmt;
pub use unsuitable::Unsuitable;

/// The methods of services, and the types that they reach.
///
/// # Example
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use bertha_schemas::Schema;
///
/// // As `protoc --include_imports --descriptor_set_out=hotel.pb hotel.proto` writes it.
/// let schema = Schema::read(&std::fs::read("hotel.pb")?)?;
/// println!("{}", schema.digest());
/// for method in schema.methods() {
///     println!("{}/{} takes {}", method.service, method.name, method.request);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    methods: Vec<Method>,
    pub(crate) messages: Vec<Message>,
    /// The canonical form, a line each.
    lines: Vec<String>,
    digest: Digest,
}

/// A method of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Method {
    /// The full name of the service.
    pub service: String,
    /// The name of the method.
    pub name: String,
    /// The full name of the message that the method takes.
    pub request: String,
    /// The full name of the message that the method returns.
    pub response: String,
    /// True if the method takes many messages.
    pub streams_requests: bool,
    /// True if the method returns many messages.
    pub streams_responses: bool,
}

/// A type of message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) name: String,
    /// The fields by their numbers.
    pub(crate) fields: Vec<Field>,
    /// The names of the choices of which one field is present.
    pub(crate) choices: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
}

/// The type of a field's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Number(Number),
    /// An enumeration of this name, which is a number of 32 bits.
    Enum(String),
    Text,
    Bytes,
    /// The message at this place in the schema's messages.
    Message(usize),
}

/// The type of a number, by the names of protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Bool,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Float,
    Double,
}

/// The number of times that a field is there, and the way in which its absence is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// A value of zero, or without elements, is absent. A message is absent without an address.
    Implicit,
    /// A bit tells it.
    Optional,
    /// The choice of this index tells it.
    Choice(usize),
    /// There is any number of values.
    Repeated {
        /// True if numbers are encoded in a row.
        is_packed: bool,
    },
}

/// The SHA-256 of a schema's canonical form. Equal digests are equal schemas.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Default for Schema {
    /// Returns a schema without methods, in the place of one that is not known.
    fn default() -> Self {
        Self { methods: Vec::new(), messages: Vec::new(), lines: Vec::new(), digest: digest(&[]) }
    }
}

impl Schema {
    /// Number of bytes of the longest descriptor set: 1 MiB.
    pub const LONGEST: usize = 1 << 20;

    /// Number of messages that a schema may have.
    pub const MESSAGES: usize = 4_096;

    /// Number of fields that its messages may have together.
    pub const FIELDS: usize = 16_384;

    /// Number of values that an enumeration may have.
    pub const VALUES: usize = 4_096;

    /// Number of methods that a schema may have.
    pub const METHODS: usize = 4_096;

    /// Reads a descriptor set of protobuf with all files that its files import.
    ///
    /// # Errors
    /// Fails with what is wrong and where: a set beyond [the](Self::LONGEST) [bounds](Self::MESSAGES), a set that is malformed or lacks a
    /// type, and a type that a method reaches and that is not of proto3.
    pub fn read(descriptors: &[u8]) -> Result<Self, Unsuitable> {
        let (methods, messages, enums) = read::read(descriptors)?;
        let lines = text::lines(&methods, &messages, &enums);
        let digest = digest(&lines);
        Ok(Self { methods, messages, lines, digest })
    }

    /// Returns the methods by services and names.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Returns the number of messages that methods reach.
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// Returns the hash of the canonical form.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the canonical form, a line each.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

fn digest(lines: &[String]) -> Digest {
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line);
        hash.update(b"\n");
    }
    Digest(hash.finalize().into())
}

#[cfg(test)]
mod tests;
