//! The keys of a connection with any number of endpoints: one key for each sender and round, all derived from
//! one secret of the group.

use super::SharedKey;
use super::control_keys::{Parts, of_body};
use super::schedule::{Keyed, MAC, MacKey};
use crate::wire::{self, Kind, PROVEN, PeerProgress, Tag, VERSION};

/// The secret of a group.
#[derive(Debug, Clone)]
pub struct GroupKey(MacKey);

/// The key of one sender in one round.
#[derive(Debug, Clone)]
pub struct SenderKey(Keyed);

impl GroupKey {
    /// Derives the keys from this secret.
    pub fn new(shared: &SharedKey) -> Self {
        Self(MacKey::extract(Some(shared), None))
    }

    /// Returns the key for the messages of a sender in a round.
    pub fn sender(&self, life: u64, round: u64, sender: u64) -> SenderKey {
        let context = [life, round, sender].map(u64::to_le_bytes).concat();
        SenderKey(self.0.derive("group sender", &context).keyed())
    }

    fn of_progress(&self, sender: u64) -> MacKey {
        self.0.derive("group progress", &sender.to_le_bytes())
    }

    /// Writes the progress of a participant, which uses this number only once.
    pub fn encode_progress(&self, tag: Tag, progress: &PeerProgress, number: u64) -> Option<Vec<u8>> {
        let mut bytes = wire::begin(tag.header(Kind::PeerProgress), VERSION | PROVEN, progress).ok()?;
        bytes.extend(number.to_le_bytes());
        let mac = self.of_progress(progress.sender).tag(&[&bytes]);
        bytes.extend(mac);
        Some(wire::checked(bytes))
    }

    /// Reads the progress of a participant, and its number. `None` unless it is genuine.
    pub fn decode_progress(&self, message: &[u8]) -> Option<(PeerProgress, u64)> {
        let Parts { body, counter } = Parts::of(message).ok()?;
        let progress: PeerProgress = of_body(body).ok()?;
        let (proven, mac) = wire::unchecked(message).ok()?.split_last_chunk::<MAC>()?;
        self.of_progress(progress.sender).is_tag(&[proven], mac).then_some((progress, counter))
    }
}

impl SenderKey {
    /// Computes the MAC of a message in parts, of which all but the last have a fixed length.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; MAC] {
        self.0.tag(parts)
    }

    /// Returns true if `tag` is the MAC of the parts. It runs in constant time.
    pub fn is_tag(&self, parts: &[&[u8]], tag: &[u8; MAC]) -> bool {
        self.0.is_tag(parts, tag)
    }
}
