//! The bounds of a message that its length does not give: how deep its values are nested, and how many elements they have.
//!
//! serde decodes a value within a value by recursion, and reads as many elements as a message announces. So a short message of a
//! recursive type could use up the stack, and a message whose elements take no bytes could keep a decoder busy for ever. The
//! codecs of this crate bound both: those that describe themselves write at least a byte for each element, and the others have
//! their elements counted. The level of a value is an argument and no variable: in a type without recursion the compiler
//! knows it, and leaves no check. So all of these functions are inlined by force: each is short, and a call would hide the level.

mod decoding;
mod encoding;

#[cfg(any(feature = "cbor", feature = "messagepack", feature = "json"))]
pub(super) use decoding::Bytes;
#[cfg(any(feature = "bincode", feature = "postcard"))]
pub(super) use decoding::Elements;
pub(super) use decoding::Nested;
pub(super) use encoding::NestedValue;
use std::fmt;

/// The deepest nesting of a message, in levels, as in serde_json: the stack of a thread that runs futures holds the frames of all.
pub(super) const DEPTH: u8 = 128;

/// The elements that a message may have beyond its bytes. An element takes no byte if its type has a single value.
pub(super) const EMPTY_ELEMENTS: usize = 1024;

/// The bound that a message exceeds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exceeded {
    Depth,
    Elements,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth => write!(f, "the message is nested deeper than {DEPTH} levels"),
            Self::Elements => write!(f, "the message has over {EMPTY_ELEMENTS} elements more than bytes"),
        }
    }
}
