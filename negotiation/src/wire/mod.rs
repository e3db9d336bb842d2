//! Messages between two ends: one byte holds the kind of a message, seven bytes identify its connection.
//!
//! ```text
//!  byte 0      1                          8 ...
//! +--------+----------------- ~ --------+---------------------------------+
//! |  kind  |  tag (56 bits, LE)         |  payload                        |
//! +--------+----------------- ~ --------+---------------------------------+
//! ```
//!
//! Every message of a negotiated connection begins with these bytes, data included; so no payload can be
//! mistaken for a handshake message, nor a handshake message for a payload. The tag is the low 56 bits of the
//! connection id that the client chose at random; data of an earlier connection between the same addresses
//! carry another tag. A sender that has not seen the connection's messages does not guess the tag, so it can
//! neither end a connection nor add to its data.
//!
//! The payload of every message but data is a protocol version byte, a postcard encoding of the message, and
//! its CRC-32 in four bytes, little-endian, over all bytes before it. A message whose check fails is dropped.
//! With the top bit of the version byte set, a proof of its origin stands between message and check.
//!
//! `negotiation/WIRE.md` is the specification, byte by byte.

mod answer;
mod early;
mod group;
mod joined;
mod offer;
mod retry;
mod upgrade;

pub use answer::{Answer, Close, Confirm, Refusal, RefusalKind};
pub(crate) use answer::{DROPPED, TEXT_LIMIT, cut, cut_to};
pub use early::{CLAIM, PresentedTicket, TICKET, early_cost};
pub(crate) use early::{Early, behind_offer, early_capacity};
pub(crate) use group::ProvenOrigin;
pub use group::{Before, GROUP_HEADER, Origin, PROVEN_GROUP_HEADER, PeerProgress, origin, proven_origin};
pub use joined::{LARGEST_JOINED, join, parts};
pub(crate) use joined::{joined, split_joined};
#[cfg(test)]
pub(crate) use offer::NAME_LIMIT;
pub(crate) use offer::OfferedLayer;
pub use offer::{NODES, Offer, OfferedNode, offer_in};
pub(crate) use retry::ENVELOPE;
pub use retry::{COOKIE, Retry, envelop};
pub use upgrade::{Upgrade, UpgradeStep};

use bertha_core::Role;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of the protocol that this crate speaks.
pub const VERSION: u8 = 3;

/// The bit of the version byte that is set if the message carries a proof of its origin.
pub(crate) const PROVEN: u8 = 0x80;

/// Number of bytes in front of every message.
pub const HEADER: usize = 8;

/// Maximum length of a handshake message, in bytes: it bounds the work of a server for a stranger.
pub(crate) const LARGEST: usize = 8192;

/// The length of a MAC, in bytes.
pub(crate) const MAC: usize = 16;

/// Maximum length of most handshake messages, in bytes, so that writing them allocates once.
pub(crate) const USUAL: usize = 256;

/// The kind of a message: its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A message of the application, after the stack's Chunnels.
    Data = 0,
    /// A client proposes stacks.
    Offer = 1,
    /// The server picked a proposed stack.
    Answer = 2,
    /// The server can run none of the proposed stacks.
    Refusal = 3,
    /// The sender has closed the connection.
    Close = 4,
    /// The receiver of a close has seen it.
    CloseSeen = 5,
    /// The sender is alive and has no other message to send.
    KeepAlive = 6,
    /// The sender knows no such connection.
    Reset = 7,
    /// A client confirms that it is there, as the server asked.
    Confirm = 8,
    /// The server asks the client to repeat its offer with a cookie, which proves that the client owns its
    /// address.
    Retry = 9,
    /// An offer with the cookie of a retry.
    Returned = 10,
    /// A message about a change of the stack of a connection in use.
    Upgrade = 11,
    /// An offer, with or without a cookie, and behind it the first messages.
    Early = 12,
    /// A message of a connection with any number of endpoints, after the stack's Chunnels.
    GroupData = 13,
    /// The progress of a participant of such a connection in a change of rounds.
    PeerProgress = 14,
    /// An answer, and behind it the server's first data.
    AnswerAndData = 15,
    /// A message as [`GroupData`](Self::GroupData), with a proof of its sender.
    ProvenGroupData = 16,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        const KINDS: [Kind; 17] = [
            Kind::Data,
            Kind::Offer,
            Kind::Answer,
            Kind::Refusal,
            Kind::Close,
            Kind::CloseSeen,
            Kind::KeepAlive,
            Kind::Reset,
            Kind::Confirm,
            Kind::Retry,
            Kind::Returned,
            Kind::Upgrade,
            Kind::Early,
            Kind::GroupData,
            Kind::PeerProgress,
            Kind::AnswerAndData,
            Kind::ProvenGroupData,
        ];
        // Such a byte marks data of later epochs.
        if byte & LATER != 0 {
            return Some(Self::Data);
        }
        let kind = *KINDS.get(usize::from(byte & !FROM_SERVER))?;
        (byte & FROM_SERVER == 0 || kind.names_sender()).then_some(kind)
    }

    /// Returns true if the first byte of such a message names the end that has sent it: the message is about
    /// a connection that has two ends, and an end that gets its own message back must not take it for the
    /// peer's.
    fn names_sender(self) -> bool {
        matches!(
            self,
            Self::Close | Self::CloseSeen | Self::KeepAlive | Self::Reset | Self::Confirm | Self::Upgrade
        )
    }
}

/// The bit of the first byte that a server sets in messages about a connection.
const FROM_SERVER: u8 = 0x40;

/// The bit of the first byte that marks data of a stack to which a connection changed; the other bits are the
/// low bits of the epoch's number.
const LATER: u8 = 0x80;

/// The seven bytes that distinguish connections between the same addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(u64);

/// The bits of a tag.
const TAG: u64 = (1 << 56) - 1;

impl Tag {
    /// Returns the tag of the connection with this id.
    pub fn of(id: u64) -> Self {
        Self(id & TAG)
    }

    /// Returns the tag of a round among any number of endpoints. Rounds that follow each other have different
    /// tags.
    pub fn of_round(life: u64, round: u64) -> Self {
        Self::of(life.wrapping_add(round))
    }

    /// Returns the header of data of this connection in an epoch; the first epoch has the number 0.
    pub fn data_header(self, round: u64) -> [u8; HEADER] {
        let mut header = self.header(Kind::Data);
        if round > 0 {
            header[0] = LATER | (round as u8 & !LATER);
        }
        header
    }

    /// Returns the header of a message of this connection.
    pub fn header(self, kind: Kind) -> [u8; HEADER] {
        (self.0 << 8 | u64::from(kind as u8)).to_le_bytes()
    }

    /// Returns the header of a message about this connection, which this end sends.
    pub fn header_from(self, sender: Role, kind: Kind) -> [u8; HEADER] {
        let mut header = self.header(kind);
        if sender == Role::Server && kind.names_sender() {
            header[0] |= FROM_SERVER;
        }
        header
    }
}

/// Returns the end that has sent a message about a connection, as the message says; `None` for other
/// messages.
pub fn sender(message: &[u8]) -> Option<Role> {
    header(message).filter(|(kind, _)| kind.names_sender())?;
    let is_servers = message.first()? & FROM_SERVER != 0;
    Some(if is_servers { Role::Server } else { Role::Client })
}

/// Returns kind and tag of a message, or `None` if it is too short or of an unknown kind.
pub fn header(message: &[u8]) -> Option<(Kind, Tag)> {
    let first: [u8; HEADER] = message.get(..HEADER)?.try_into().ok()?;
    Some((Kind::from_byte(first[0])?, Tag(u64::from_le_bytes(first) >> 8)))
}

/// The reason why a handshake message was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// The message was damaged on its way, or is no handshake message at all.
    Damaged,
    /// The message is whole, and of a version that this crate does not speak.
    Version(u8),
    /// The message is whole, and does not follow the format.
    Malformed,
    /// The message is whole and carries a proof of its origin, but this end has no key to check it with.
    Proven,
    /// The message is whole, and lacks the proof of its origin that this end requires: there is no proof, the
    /// proof was made with another key or over another message, or the message has been seen before.
    Unproven,
}

/// Encodes a whole handshake message: header, version, encoding, check.
///
/// # Errors
/// The error of postcard, if the message can't be encoded.
pub fn encode<M: Serialize>(kind: Kind, tag: Tag, message: &M) -> Result<Vec<u8>, postcard::Error> {
    Ok(checked(begin(tag.header(kind), VERSION, message)?))
}

/// Works as [`encode`], for a message about a connection.
///
/// # Errors
/// The error of postcard, if the message can't be encoded.
pub fn encode_from<M: Serialize>(
    sender: Role,
    kind: Kind,
    tag: Tag,
    message: &M,
) -> Result<Vec<u8>, postcard::Error> {
    Ok(checked(begin(tag.header_from(sender, kind), VERSION, message)?))
}

/// Reads a whole handshake message whose header was read already, and which needs no proof of its origin.
///
/// # Errors
/// The first step that failed; no part of a damaged message is trusted.
pub fn decode<M: DeserializeOwned>(message: &[u8]) -> Result<M, Unreadable> {
    let (version, body) = open(message)?;
    if version != VERSION {
        return Err(Unreadable::Proven);
    }
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        _ => Err(Unreadable::Malformed),
    }
}

/// Returns true if a message with a version says that it carries a proof of its origin.
pub(crate) fn is_proven(message: &[u8]) -> bool {
    message.get(HEADER).is_some_and(|version| version & PROVEN != 0)
}

/// Encodes a message up to the beginning of its proof or its check.
pub(crate) fn begin<M: Serialize>(
    header: [u8; HEADER],
    version: u8,
    message: &M,
) -> Result<Vec<u8>, postcard::Error> {
    let mut bytes = Vec::with_capacity(USUAL);
    bytes.extend(header);
    bytes.push(version);
    postcard::to_extend(message, bytes)
}

/// Appends the check to a message.
pub(crate) fn checked(mut bytes: Vec<u8>) -> Vec<u8> {
    let check = crc32fast::hash(&bytes);
    bytes.extend(check.to_le_bytes());
    bytes
}

/// Returns the id in an offer, with or without a proof, without reading the rest. The id is not verified: a
/// server that asks for a proof of address has done no work yet.
pub(crate) fn offer_id(offer: &[u8]) -> Option<u64> {
    let (_, body) = open(offer).ok()?;
    postcard::take_from_bytes(body).ok().map(|(id, _)| id)
}

/// Returns a whole message without its check.
pub(crate) fn unchecked(message: &[u8]) -> Result<&[u8], Unreadable> {
    if message.len() > LARGEST {
        return Err(Unreadable::Damaged);
    }
    let (checked, check) = message.split_last_chunk().ok_or(Unreadable::Damaged)?;
    if crc32fast::hash(checked) != u32::from_le_bytes(*check) {
        return Err(Unreadable::Damaged);
    }
    Ok(checked)
}

/// Returns the version byte of a whole message, which is [`VERSION`] with or without [`PROVEN`], and the
/// bytes between it and the check.
pub(crate) fn open(message: &[u8]) -> Result<(u8, &[u8]), Unreadable> {
    let checked = unchecked(message)?;
    let (&version, body) = checked.get(HEADER..).and_then(<[u8]>::split_first).ok_or(Unreadable::Damaged)?;
    if version & !PROVEN != VERSION {
        return Err(Unreadable::Version(version & !PROVEN));
    }
    Ok((version, body))
}

#[cfg(test)]
mod tests;
