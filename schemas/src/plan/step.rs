//! The work for a field.

use super::MessageId;
use crate::schema::Number;

/// The work for a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) number: u32,
    /// The place of the field in the structure.
    pub(crate) at: u32,
    pub(crate) element: Element,
    pub(crate) told: Told,
}

impl Step {
    /// Returns the number of bytes of the field in its message's structure.
    pub(crate) fn size(&self) -> u32 {
        match self.told {
            Told::Count { .. } => REFERENCE,
            _ => self.element.size(),
        }
    }

    /// Returns false if the structure tells that the field is not there. `word` returns the number that lies at a place of the structure, of
    /// so many bytes.
    #[inline]
    pub(crate) fn is_there(&self, word: impl FnOnce(u32, u32) -> u64) -> bool {
        match self.told {
            Told::Bit(bit) => word(bit / 8, 1) >> (bit % 8) & 1 == 1,
            Told::Choice(choice) => word(choice, 4) == u64::from(self.number),
            Told::Value | Told::Count { .. } => true,
        }
    }
}

/// The type of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Number(Number),
    Text,
    Bytes,
    Message(MessageId),
}

/// The part of a structure that tells if a field is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The value, which is absent if it is zero.
    Value,
    /// This bit of the words with which the structure begins.
    Bit(u32),
    /// The number of the present field of a `oneof`. The number has 32 bits, and lies at this place of the structure, in bytes from the
    /// beginning.
    Choice(u32),
    /// The number of elements.
    Count {
        /// True if numbers are encoded in a row.
        is_packed: bool,
    },
}

/// Size of a reference to text, bytes, or repeated values.
pub(crate) const REFERENCE: u32 = 16;

impl Number {
    /// Returns the number of bytes in memory.
    #[inline]
    pub(crate) fn size(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Int32 | Self::Uint32 | Self::Sint32 | Self::Fixed32 | Self::Sfixed32 | Self::Float => 4,
            Self::Int64 | Self::Uint64 | Self::Sint64 | Self::Fixed64 | Self::Sfixed64 | Self::Double => 8,
        }
    }
}

impl Element {
    /// Returns the number of bytes of a single value in its message's structure.
    pub(crate) fn size(self) -> u32 {
        match self {
            Self::Number(number) => number.size(),
            Self::Text | Self::Bytes => REFERENCE,
            Self::Message(_) => 8,
        }
    }
}
