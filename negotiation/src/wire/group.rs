//! Messages among any number of endpoints.

use super::{HEADER, MAC};
use serde::{Deserialize, Serialize};

/// The bytes in front of a message of the application: kind and tag of the round, then an [`Origin`].
pub const GROUP_HEADER: usize = HEADER + ORIGIN;

/// The bytes of an [`Origin`].
const ORIGIN: usize = 12;

/// The sender and the number of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The number of the message in this round, counted from 0 and again from 0 after 2^32.
    pub number: u32,
    /// The participant that sent the message.
    pub sender: u64,
}

impl Origin {
    /// Returns the bytes as they stand behind kind and tag.
    pub fn to_bytes(self) -> [u8; ORIGIN] {
        let mut bytes = [0; ORIGIN];
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[4..].copy_from_slice(&self.sender.to_le_bytes());
        bytes
    }
}

/// Returns the origin at the beginning of the bytes behind kind and tag; `None` if they are too few.
pub fn origin(bytes: &[u8]) -> Option<Origin> {
    let (number, rest) = bytes.split_first_chunk()?;
    let sender = rest.first_chunk()?;
    Some(Origin { number: u32::from_le_bytes(*number), sender: u64::from_le_bytes(*sender) })
}

/// The bytes in front of a message with a proof of its sender: kind and tag of the round, then a `ProvenOrigin`.
pub const PROVEN_GROUP_HEADER: usize = HEADER + PROVEN_ORIGIN;

/// The bytes of a [`ProvenOrigin`].
const PROVEN_ORIGIN: usize = 8 + 8 + MAC;

/// The sender and the number of a message, with a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvenOrigin {
    /// The number of the message among the messages of the sender in this round, counted from 0. It is
    /// unique.
    pub number: u64,
    /// The participant that sent the message.
    pub sender: u64,
    /// The MAC of header, number, sender and message, under the key of the sender and the round.
    pub mac: [u8; MAC],
}

impl ProvenOrigin {
    /// Returns the bytes as they stand behind kind and tag.
    pub fn to_bytes(self) -> [u8; PROVEN_ORIGIN] {
        let mut bytes = [0; PROVEN_ORIGIN];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sender.to_le_bytes());
        bytes[16..].copy_from_slice(&self.mac);
        bytes
    }
}

/// Returns the proven origin at the beginning of the bytes behind kind and tag; `None` if they are too few.
pub fn proven_origin(bytes: &[u8]) -> Option<ProvenOrigin> {
    let (number, rest) = bytes.split_first_chunk()?;
    let (sender, rest) = rest.split_first_chunk()?;
    let mac = *rest.first_chunk()?;
    Some(ProvenOrigin { number: u64::from_le_bytes(*number), sender: u64::from_le_bytes(*sender), mac })
}

/// The progress of a participant in a change of rounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerProgress {
    /// The participant.
    pub sender: u64,
    /// The life of the record to which the round belongs.
    pub life: u64,
    /// The round in which the participant sends.
    pub round: u64,
    /// The round in which the participant sent before.
    pub before: Option<Before>,
    /// True if the other participants are to report their progress.
    pub asks: bool,
}

/// The round that a participant has left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// The life of the record to which the round belongs.
    pub life: u64,
    /// The round.
    pub round: u64,
    /// Number of messages that the participant has sent in the round; `None` while it may have to answer
    /// other participants there.
    pub sent: Option<u32>,
}
