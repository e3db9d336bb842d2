//! The name of a round.

use crate::wire::{HEADER, Kind, Tag};
use serde::{Deserialize, Serialize};

/// A round of a connection, across the lives of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct RoundId {
    pub(super) life: u64,
    pub(super) number: u64,
}

impl RoundId {
    /// Returns the header of messages of this kind.
    pub(super) fn header(self, kind: Kind) -> [u8; HEADER] {
        Tag::of_round(self.life, self.number).header(kind)
    }
}
