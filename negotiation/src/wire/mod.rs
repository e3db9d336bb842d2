//! What travels between two ends: one byte says what a message is, three say which connection it belongs to.
//!
//! ```text
//!  byte 0      1      2      3      4 ...
//! +--------+------+------+------+---------------------------------+
//! |  kind  |  tag (24 bits, LE) |  payload                        |
//! +--------+------+------+------+---------------------------------+
//! ```
//!
//! Every message of a negotiated connection begins so, data included; that no payload can be mistaken for a handshake
//! message, nor the reverse, follows from it. The tag is the low 24 bits of the connection id that the client chose at
//! random; data of an earlier connection between the same addresses carry another one.
//!
//! The payload of everything but data is a protocol version byte, a postcard encoding of the message, and its CRC-32
//! in four bytes, little-endian, over all that precedes it. A message whose check fails is dropped.

mod answer;
mod offer;

pub(crate) use answer::cut;
pub use answer::{Answer, Close, Confirm, Refusal, RefusalKind, TEXT_LIMIT};
pub use offer::{NAME_LIMIT, NODES, Offer, OfferedLayer, OfferedNode};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of the protocol that this crate speaks.
pub const VERSION: u8 = 1;

/// The bytes in front of every message.
pub const HEADER: usize = 4;

/// The largest handshake message, in bytes: bounds what a server parses for a stranger.
pub const LARGEST: usize = 8192;

/// What a message is: its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A message of the application, after the stack's Chunnels.
    Data = 0,
    /// A client proposes stacks.
    Offer = 1,
    /// The server picked one.
    Answer = 2,
    /// The server can run none of them.
    Refusal = 3,
    /// The sender has closed the connection.
    Close = 4,
    /// The receiver of a close has seen it.
    CloseSeen = 5,
    /// The sender is alive and has nothing else to say.
    KeepAlive = 6,
    /// The sender knows no such connection.
    Reset = 7,
    /// A client that the server asked for it shows that it is there.
    Confirm = 8,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        const KINDS: [Kind; 9] = [
            Kind::Data,
            Kind::Offer,
            Kind::Answer,
            Kind::Refusal,
            Kind::Close,
            Kind::CloseSeen,
            Kind::KeepAlive,
            Kind::Reset,
            Kind::Confirm,
        ];
        KINDS.get(usize::from(byte)).copied()
    }
}

/// The three bytes that tell connections between the same addresses apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(u32);

impl Tag {
    /// The tag of the connection with this id.
    pub fn of(id: u64) -> Self {
        Self(id as u32 & 0x00ff_ffff)
    }

    /// The first four bytes of a message of this connection.
    pub fn header(self, kind: Kind) -> [u8; HEADER] {
        (self.0 << 8 | u32::from(kind as u8)).to_le_bytes()
    }
}

/// Kind and tag of a message, or nothing if it is too short or of an unknown kind.
pub fn header(message: &[u8]) -> Option<(Kind, Tag)> {
    let first: [u8; HEADER] = message.get(..HEADER)?.try_into().ok()?;
    Some((Kind::from_byte(first[0])?, Tag(u32::from_le_bytes(first) >> 8)))
}

/// Why a handshake message was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// It was damaged on its way, or is no handshake message at all.
    Damaged,
    /// It is whole, and of a version that this crate does not speak.
    Version(u8),
    /// It is whole, and does not follow the format.
    Malformed,
}

/// A whole handshake message: header, version, encoding, check.
///
/// # Errors
/// postcard's, if the message can't be encoded.
pub fn encode<M: Serialize>(kind: Kind, tag: Tag, message: &M) -> Result<Vec<u8>, postcard::Error> {
    let mut bytes = tag.header(kind).to_vec();
    bytes.push(VERSION);
    let mut bytes = postcard::to_extend(message, bytes)?;
    let check = crc32fast::hash(&bytes);
    bytes.extend(check.to_le_bytes());
    Ok(bytes)
}

/// Reads a whole handshake message whose header was read already.
///
/// # Errors
/// Says which of the steps failed; nothing of a damaged message is believed.
pub fn decode<M: DeserializeOwned>(message: &[u8]) -> Result<M, Unreadable> {
    if message.len() > LARGEST {
        return Err(Unreadable::Damaged);
    }
    let (checked, check) = message.split_last_chunk().ok_or(Unreadable::Damaged)?;
    if crc32fast::hash(checked) != u32::from_le_bytes(*check) {
        return Err(Unreadable::Damaged);
    }
    let (&version, body) = checked.get(HEADER..).and_then(<[u8]>::split_first).ok_or(Unreadable::Damaged)?;
    if version != VERSION {
        return Err(Unreadable::Version(version));
    }
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        _ => Err(Unreadable::Malformed),
    }
}

#[cfg(test)]
mod tests;
