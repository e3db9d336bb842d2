//! The proofs of the senders of one round, with a key of the group.
//!
//! The key of a sender is derived from the key of the group, the round and the sender's id. So all
//! participants can compute it, and nobody without the group's key can.

use super::round_id::RoundId;
use crate::auth::{GroupKey, SenderKey};
use crate::rendezvous::store::limits::PARTICIPANTS;
use crate::wire::{HEADER, Origin, PeerProgress, ProvenOrigin, Tag, proven_origin};
use ahash::AHashMap;
use bertha_core::replay_window::ReplayWindow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of senders that are known at once, equal to the number of counted senders.
const SENDERS: usize = 4 * PARTICIPANTS;

/// The keys of a round, and the numbers that were received.
pub(super) struct RoundProofs {
    key: GroupKey,
    round: RoundId,
    sent: AtomicU64,
    /// Locked for each message, for the time of a lookup: senders come and go, and a group within a process
    /// has few threads.
    senders: Mutex<AHashMap<u64, Arc<Sender>>>,
}

struct Sender {
    key: SenderKey,
    /// Locked for each genuine message, since several receptions may insert their numbers.
    received: Mutex<ReplayWindow<16>>,
}

impl RoundProofs {
    pub(super) fn new(key: GroupKey, round: RoundId) -> Self {
        Self { key, round, sent: AtomicU64::new(0), senders: Mutex::default() }
    }

    fn known(&self, sender: u64) -> Option<Arc<Sender>> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner).get(&sender).cloned()
    }

    fn derived(&self, sender: u64) -> Arc<Sender> {
        let RoundId { life, number } = self.round;
        Arc::new(Sender { key: self.key.sender(life, number, sender), received: Mutex::default() })
    }

    /// Keeps a sender that has shown its key. `None` if there is no room for it.
    fn admit(&self, id: u64, sender: Arc<Sender>) -> Option<Arc<Sender>> {
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        if senders.len() >= SENDERS && !senders.contains_key(&id) {
            return None;
        }
        Some(senders.entry(id).or_insert(sender).clone())
    }

    /// Returns the origin of this end's next message.
    pub(super) fn prove(&self, header: [u8; HEADER], sender: u64, message: &[u8]) -> ProvenOrigin {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let own = self.known(sender).or_else(|| self.admit(sender, self.derived(sender)));
        let own = own.unwrap_or_else(|| self.derived(sender));
        let mac = own.key.tag(&[&header, &number.to_le_bytes(), &sender.to_le_bytes(), message]);
        ProvenOrigin { number, sender, mac }
    }

    /// Returns the origin of a message of this round, which begins behind its header. `None` unless the
    /// message is genuine and new.
    pub(super) fn check(&self, header: [u8; HEADER], message: &[u8]) -> Option<Origin> {
        let ProvenOrigin { number, sender: id, mac } = proven_origin(message)?;
        let known = self.known(id);
        let is_known = known.is_some();
        let sender = known.unwrap_or_else(|| self.derived(id));
        let (proven, body) = message.split_at_checked(16)?;
        let body = body.get(mac.len()..)?;
        if !sender.key.is_tag(&[&header, &proven[..8], &proven[8..], body], &mac) {
            return None;
        }
        let sender = if is_known { sender } else { self.admit(id, sender)? };
        let is_new = sender.received.lock().unwrap_or_else(PoisonError::into_inner).insert(number);
        is_new.then_some(Origin { number: number as u32, sender: id })
    }

    /// Makes room for other senders.
    pub(super) fn forget(&self, gone: &[u64]) {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner).retain(|id, _| !gone.contains(id));
    }
}

/// The proofs of the progress that participants report.
pub(super) struct ProgressProofs {
    key: GroupKey,
    sent: AtomicU64,
    /// The number of the last report of each participant: earlier reports are ignored.
    last: Mutex<BTreeMap<u64, u64>>,
}

impl ProgressProofs {
    pub(super) fn new(key: GroupKey) -> Self {
        Self { key, sent: AtomicU64::new(0), last: Mutex::default() }
    }

    /// Returns the key of the group, for the proofs of a round.
    pub(super) fn key(&self) -> GroupKey {
        self.key.clone()
    }

    pub(super) fn encode(&self, tag: Tag, progress: &PeerProgress) -> Option<Vec<u8>> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        self.key.encode_progress(tag, progress, number)
    }

    /// Reads a participant's progress. `None` unless it is genuine, and later than all progress before.
    pub(super) fn decode(&self, message: &[u8]) -> Option<PeerProgress> {
        let (progress, number) = self.key.decode_progress(message)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= SENDERS && !last.contains_key(&progress.sender) {
            return None;
        }
        match last.insert(progress.sender, number) {
            Some(before) if before >= number => {
                last.insert(progress.sender, before);
                None
            }
            _ => Some(progress),
        }
    }

    /// Makes room for other participants.
    pub(super) fn forget(&self, gone: &[u64]) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).retain(|id, _| !gone.contains(id));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::auth::SharedKey;

    const ROUND: RoundId = RoundId { life: 3, number: 9 };
    const HEAD: [u8; HEADER] = [16; HEADER];

    fn proofs(key: u8, round: RoundId) -> RoundProofs {
        RoundProofs::new(GroupKey::new(&SharedKey::new([key; 32])), round)
    }

    fn said(by: &RoundProofs, sender: u64, message: &[u8]) -> Vec<u8> {
        [&by.prove(HEAD, sender, message).to_bytes()[..], message].concat()
    }

    #[test]
    fn what_a_sender_has_said_is_taken_once_and_in_its_round_alone() {
        let ours = proofs(1, ROUND);
        let theirs = proofs(1, ROUND);
        let messages: Vec<_> = (0..100_u8).map(|byte| said(&ours, 7, &[byte; 5])).collect();
        for (number, message) in messages.iter().enumerate().rev() {
            assert_eq!(theirs.check(HEAD, message), Some(Origin { number: number as u32, sender: 7 }));
            assert_eq!(theirs.check(HEAD, message), None, "a replay");
        }
        let later = RoundId { number: 10, ..ROUND };
        assert_eq!(proofs(1, later).check(HEAD, &messages[0]), None, "another round");
        assert_eq!(proofs(2, ROUND).check(HEAD, &messages[0]), None, "another key");
        assert_eq!(proofs(1, ROUND).check([17; HEADER], &messages[0]), None, "another header");
    }

    #[test]
    fn nothing_of_a_message_can_be_altered() {
        let ours = proofs(1, ROUND);
        let theirs = proofs(1, ROUND);
        let genuine = said(&ours, 7, b"hello");
        for bit in 0..genuine.len() * 8 {
            let mut altered = genuine.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(theirs.check(HEAD, &altered), None, "bit {bit}");
        }
        for len in 0..genuine.len() {
            assert_eq!(theirs.check(HEAD, &genuine[..len]), None, "{len} bytes");
        }
        assert!(theirs.check(HEAD, &genuine).is_some());
    }

    /// Outsiders fill no table: a sender gets an entry only after it has shown its key.
    #[test]
    fn senders_without_a_key_take_no_room() {
        let ours = proofs(1, ROUND);
        let theirs = proofs(1, ROUND);
        let strangers = proofs(2, ROUND);
        for sender in 1..2 * SENDERS as u64 {
            assert_eq!(theirs.check(HEAD, &said(&strangers, sender, b"x")), None);
        }
        for sender in 1..=SENDERS as u64 {
            assert!(theirs.check(HEAD, &said(&ours, sender, b"x")).is_some());
        }
        let newcomer = said(&ours, u64::MAX - 5, b"x");
        assert_eq!(theirs.check(HEAD, &newcomer), None, "no room");
        theirs.forget(&[1]);
        assert!(theirs.check(HEAD, &newcomer).is_some());
    }

    #[test]
    fn progress_is_taken_in_order_and_from_those_who_have_the_key() {
        let of = |key| ProgressProofs::new(GroupKey::new(&SharedKey::new([key; 32])));
        let ours = of(1);
        let theirs = of(1);
        let (tag, progress) =
            (Tag::of(5), PeerProgress { sender: 7, life: 1, round: 2, before: None, asks: true });
        let [first, second] = [(); 2].map(|()| ours.encode(tag, &progress).unwrap());
        assert_eq!(theirs.decode(&second), Some(progress.clone()));
        for late in [&first, &second] {
            assert_eq!(theirs.decode(late), None);
        }
        assert_eq!(theirs.decode(&of(2).encode(tag, &progress).unwrap()), None, "another key");
        let another = PeerProgress { sender: 8, ..progress };
        assert_eq!(theirs.decode(&ours.encode(tag, &another).unwrap()), Some(another));
    }
}
