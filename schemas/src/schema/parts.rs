//! The number of parts of a descriptor set, before it is decoded: two bytes can stand for a structure of hundreds.

use super::Unsuitable;
use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// Number of parts that a set may have: some for each of the messages, fields, values and methods of the largest schema.
const MOST: usize = 1 << 17;

/// Number of levels in which parts lie in parts. A decoder refuses a set with more.
const DEEPEST: u32 = 100;

/// A part of a set that has parts.
#[derive(Clone, Copy)]
enum Part {
    Set,
    File,
    Message,
    Enum,
    Service,
    /// A part whose parts are counted, and not theirs.
    Other,
}

impl Part {
    /// Returns what the field of this number holds, by `google/protobuf/descriptor.proto`.
    fn within(self, field: u32) -> Option<Self> {
        Some(match (self, field) {
            (Self::Set, 1) => Self::File,
            (Self::File, 4) | (Self::Message, 3) => Self::Message,
            (Self::File, 5) | (Self::Message, 4) => Self::Enum,
            (Self::File, 6) => Self::Service,
            // Options, and where the parts stand in the source.
            (Self::File, 8 | 9) | (Self::Message, 7) | (Self::Enum | Self::Service, 3) => Self::Other,
            _ => return None,
        })
    }
}

/// Fails if there are too many parts.
pub(super) fn check(set: &[u8]) -> Result<(), Unsuitable> {
    let mut left = MOST;
    count(Part::Set, set, DEEPEST, &mut left).map_err(Unsuitable::Malformed)?;
    if left == 0 { Err(Unsuitable::Many) } else { Ok(()) }
}

/// Takes the parts from what is left.
fn count(part: Part, mut bytes: &[u8], depth: u32, left: &mut usize) -> Result<(), DecodeError> {
    while *left > 0 && !bytes.is_empty() {
        let (field, wire) = decode_key(&mut bytes)?;
        if wire != WireType::LengthDelimited {
            skip_field(wire, field, &mut bytes, DecodeContext::default())?;
            continue;
        }
        *left -= 1;
        let len = decode_varint(&mut bytes)?;
        // A length beyond the end is for the decoder to refuse.
        let len = usize::try_from(len).map_or(bytes.len(), |len| len.min(bytes.len()));
        if let (Some(inner), Some(depth)) = (part.within(field), depth.checked_sub(1)) {
            count(inner, &bytes[..len], depth, left)?;
        }
        bytes = &bytes[len..];
    }
    Ok(())
}
