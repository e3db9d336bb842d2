//! One round of a group: the messages that this end sends and receives in it.

use super::counter::Counter;
use super::proofs::RoundProofs;
use super::round_id::RoundId;
use super::senders::Senders;
use super::share::RoundShare;
use crate::auth::GroupKey;
use crate::link::{EpochQueue, GROUP_CAPACITY};
use crate::wire::{GROUP_HEADER, HEADER, Kind, Origin, PROVEN_GROUP_HEADER, origin};
use bertha_core::{Buf, Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The messages of a round.
pub(crate) struct RoundQueue {
    pub(super) id: RoundId,
    /// Messages that wait for this round's receivers.
    pub(super) queue: EpochQueue,
    pub(super) senders: Senders,
    /// Present if each message reaches one receiver.
    pub(super) share: Option<Arc<RoundShare>>,
    /// Present with a key of the group.
    proofs: Option<RoundProofs>,
    /// Number of messages that this end has sent.
    sent: Counter,
    /// Total number of messages that this end may send while other participants can't receive in this round
    /// yet and have to keep its messages.
    allowance: AtomicU32,
}

/// The allowance without a limit.
const UNLIMITED: u32 = u32::MAX;

/// The allowance of an end without which the other participants have gone on: it will never send in this
/// round.
const NEVER: u32 = u32::MAX - 1;

/// The relation of a message to a round.
pub(super) enum Sorted {
    /// The message belongs to this round; its header is removed.
    Own,
    /// The message belongs to this round, but is too short or forged, or there is no room for its sender.
    Bad,
    /// The message does not belong to this round.
    Other,
}

impl RoundQueue {
    /// Makes a round. `from_start` is true if all messages of the round arrive here, `is_not_reader` if another
    /// round's receivers read for it.
    pub(super) fn new(id: RoundId, from_start: bool, is_not_reader: bool, key: Option<GroupKey>) -> Self {
        let kind = if key.is_some() { Kind::ProvenGroupData } else { Kind::GroupData };
        let queue = EpochQueue::among(id.header(kind), is_not_reader);
        let proofs = key.map(|key| RoundProofs::new(key, id));
        let sent = Counter::default();
        let allowance = AtomicU32::new(UNLIMITED);
        Self { id, queue, senders: Senders::new(from_start), share: None, proofs, sent, allowance }
    }

    /// Makes a round of a group where each message reaches one receiver. Without a part in the round, this
    /// end neither sends nor receives.
    pub(super) fn shared(id: RoundId, is_not_reader: bool, has_part: bool) -> Self {
        let round = Self::new(id, true, is_not_reader || !has_part, None);
        if !has_part {
            round.hold_sends();
        }
        Self { share: Some(RoundShare::new(has_part)), ..round }
    }

    /// Makes sends wait until the limit is [lifted](Self::lift_limit).
    pub(super) fn hold_sends(&self) {
        self.allowance.store(0, Ordering::Relaxed);
    }

    /// Makes waiting sends fail. The caller has to wake them.
    pub(super) fn refuse_sends(&self) {
        self.allowance.store(NEVER, Ordering::Relaxed);
    }

    /// Returns an error if nothing can be sent any more.
    pub(super) fn may_send(&self) -> Result<(), Error> {
        if self.allowance.load(Ordering::Relaxed) == NEVER {
            let what =
                "the others have gone on without this participant; the message was not sent, send it again";
            return Err(Error::new(ErrorKind::Unavailable, what).at("rendezvous"));
        }
        Ok(())
    }

    /// Makes room for other senders: no message of `gone` is expected any more.
    pub(super) fn forget_senders(&self, gone: &[u64]) {
        self.senders.forget(gone);
        if let Some(proofs) = &self.proofs {
            proofs.forget(gone);
        }
    }

    /// Limits sends among this number of participants to the number of messages that all other participants
    /// have room for, until they are ready.
    pub(super) fn limit_sends(&self, participants: usize) {
        let each = GROUP_CAPACITY / 2 / participants.max(1);
        self.allowance.store(each as u32, Ordering::Relaxed);
    }

    /// Lifts the limit, since the other participants are ready. The caller has to wake waiting sends.
    pub(super) fn lift_limit(&self) {
        self.allowance.store(UNLIMITED, Ordering::Relaxed);
    }

    /// Returns the number of messages that this end may send now; `None` without a limit.
    #[inline]
    pub(super) fn allowance(&self) -> Option<u32> {
        match self.allowance.load(Ordering::Relaxed) {
            UNLIMITED => None,
            NEVER => Some(0),
            allowance => Some(allowance.saturating_sub(self.sent())),
        }
    }

    /// Returns the number of messages that this end has sent.
    pub(super) fn sent(&self) -> u32 {
        self.sent.total()
    }

    /// Puts the header in front of a message, and counts it. If the message is dropped after that, it counts
    /// as lost.
    #[inline]
    pub(super) fn seal(&self, mut message: Buf, sender: u64) -> Result<Buf, Error> {
        if let Some(proofs) = &self.proofs {
            return self.seal_with(proofs, message, sender);
        }
        if message.headroom() < GROUP_HEADER {
            message = with_headroom(&message, GROUP_HEADER)?;
        }
        let number = self.sent.next();
        let number = self.share.as_ref().map_or(number, |share| share.number(sender));
        let header = message.prepend(GROUP_HEADER)?;
        header[..HEADER].copy_from_slice(&self.queue.header.to_le_bytes());
        header[HEADER..].copy_from_slice(&Origin { number, sender }.to_bytes());
        Ok(message)
    }

    #[inline]
    fn count(&self, origin: Origin, message: &mut Buf) -> bool {
        match &self.share {
            None => self.senders.count(origin),
            Some(share) => {
                let arrived = message.split_to(message.len()).ok().and_then(|all| share.arrive(origin, all));
                // What is left of the message in the old buffer is nothing, and done.
                arrived.map(|arrived| std::mem::replace(message, arrived).done()).is_some()
            }
        }
    }

    fn seal_with(&self, proofs: &RoundProofs, mut message: Buf, sender: u64) -> Result<Buf, Error> {
        if message.headroom() < PROVEN_GROUP_HEADER {
            message = with_headroom(&message, PROVEN_GROUP_HEADER)?;
        }
        let header = self.queue.header.to_le_bytes();
        let origin = proofs.prove(header, sender, &message).to_bytes();
        self.sent.next();
        let front = message.prepend(PROVEN_GROUP_HEADER)?;
        front[..HEADER].copy_from_slice(&header);
        front[HEADER..].copy_from_slice(&origin);
        Ok(message)
    }

    /// Takes the header off a message of this round, and counts it.
    #[inline]
    pub(super) fn open(&self, message: &mut Buf) -> Sorted {
        if !message.strip_prefix(&self.queue.header.to_le_bytes()) {
            return Sorted::Other;
        }
        let (origin, length) = match &self.proofs {
            None => (origin(message), GROUP_HEADER),
            Some(proofs) => (proofs.check(self.queue.header.to_le_bytes(), message), PROVEN_GROUP_HEADER),
        };
        match origin {
            Some(origin) if message.advance(length - HEADER).is_ok() && self.count(origin, message) => {
                Sorted::Own
            }
            _ => Sorted::Bad,
        }
    }
}

/// Returns a copy of a message that was not made by this connection's base and so has no headroom.
#[cold]
fn with_headroom(message: &[u8], header: usize) -> Result<Buf, Error> {
    Buf::copy_of(message, header)
}
