//! The first eight bytes.

use super::{MAX_MESSAGE, Malformed};

/// The type of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Create = 0,
    Measure = 1,
    Install = 2,
    Update = 3,
    Change = 4,
    Ready = 5,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Create, Self::Measure, Self::Install, Self::Update, Self::Change, Self::Ready];
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// The length of the whole message.
    pub(super) length: u16,
    pub(super) flow: u32,
}

impl Header {
    pub(super) const SIZE: usize = 8;

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let Some(&[kind, high, short, long, a, b, c, d]) = bytes.first_chunk() else {
            return Err(Malformed::Truncated);
        };
        let kind = u16::from_le_bytes([kind, high]);
        let Some(&kind) = Kind::ALL.get(usize::from(kind)) else {
            return Err(Malformed::UnknownType(kind));
        };
        let length = u16::from_le_bytes([short, long]);
        if usize::from(length) < Self::SIZE || usize::from(length) > MAX_MESSAGE {
            return Err(Malformed::Length(length));
        }
        Ok(Self { kind, length, flow: u32::from_le_bytes([a, b, c, d]) })
    }

    /// Appends the header of a message whose body has `body` bytes, which the limits of all messages keep below 64 KiB.
    pub(super) fn encode(kind: Kind, flow: u32, body: usize, into: &mut Vec<u8>) {
        into.reserve(Self::SIZE + body);
        into.extend((kind as u16).to_le_bytes());
        into.extend(((Self::SIZE + body) as u16).to_le_bytes());
        into.extend(flow.to_le_bytes());
    }
}
