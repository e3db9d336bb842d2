//! Messages among any number of endpoints.

use super::{HEADER, MAC};
use serde::{Deserialize, Serialize};

/// The bytes in front of a message of the application: kind and tag of the round, then an [`Origin`].
pub const GROUP_HEADER: usize = HEADER + ORIGIN;

/// The bytes of an [`Origin`].
const ORIGIN: usize = 12;

/// Whose message it is, and which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The number of the message in this round, counted from 0 and from there again after 2^32.
    pub number: u32,
    /// The participant that sent it.
    pub sender: u64,
}

impl Origin {
    /// As it stands behind kind and tag.
    pub fn to_bytes(self) -> [u8; ORIGIN] {
        let mut bytes = [0; ORIGIN];
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[4..].copy_from_slice(&self.sender.to_le_bytes());
        bytes
    }
}

/// The origin at the beginning of what follows kind and tag; nothing if that is too short.
pub fn origin(bytes: &[u8]) -> Option<Origin> {
    let (number, rest) = bytes.split_first_chunk()?;
    let sender = rest.first_chunk()?;
    Some(Origin { number: u32::from_le_bytes(*number), sender: u64::from_le_bytes(*sender) })
}

/// The bytes in front of a message with a proof of its sender: kind and tag of the round, then a [`ProvenOrigin`].
pub const PROVEN_GROUP_HEADER: usize = HEADER + PROVEN_ORIGIN;

/// The bytes of a [`ProvenOrigin`].
const PROVEN_ORIGIN: usize = 8 + 8 + MAC;

/// Whose message it is, and which one, with a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvenOrigin {
    /// The number of the message among those of the sender in this round, counted from 0. No other has it.
    pub number: u64,
    /// The participant that sent it.
    pub sender: u64,
    /// The MAC of header, number, sender and message, under the key of the sender and the round.
    pub mac: [u8; MAC],
}

impl ProvenOrigin {
    /// As it stands behind kind and tag.
    pub fn to_bytes(self) -> [u8; PROVEN_ORIGIN] {
        let mut bytes = [0; PROVEN_ORIGIN];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sender.to_le_bytes());
        bytes[16..].copy_from_slice(&self.mac);
        bytes
    }
}

/// The proven origin at the beginning of what follows kind and tag; nothing if that is too short.
pub fn proven_origin(bytes: &[u8]) -> Option<ProvenOrigin> {
    let (number, rest) = bytes.split_first_chunk()?;
    let (sender, rest) = rest.split_first_chunk()?;
    let mac = *rest.first_chunk()?;
    Some(ProvenOrigin { number: u64::from_le_bytes(*number), sender: u64::from_le_bytes(*sender), mac })
}

/// How far a participant is in a change of rounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerProgress {
    /// The participant.
    pub sender: u64,
    /// The life of the record to which the round belongs.
    pub life: u64,
    /// The round in which it sends.
    pub round: u64,
    /// The round in which it sent before.
    pub before: Option<Before>,
    /// Whether the others are to say how far they are.
    pub asks: bool,
}

/// The round that a participant has left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// The life of the record to which it belongs.
    pub life: u64,
    /// The round.
    pub round: u64,
    /// The number of messages that the participant has sent in it; nothing while it may have to answer others there.
    pub sent: Option<u32>,
}
