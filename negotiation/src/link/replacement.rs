//! A client that restarted on its port, and its old connection, which the server still has.

use crate::auth::HandshakeNonce;
use crate::auth::NonceByOffer;
use crate::handshake::{Accepted, AmplificationLimit, CANDIDATES, Overtaken};
use crate::wire::{Kind, Tag, header};
use bertha_core::{Base, Buf, Connection, Runtime};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;

/// The messages of a server's link to its listener about another connection on the same base.
pub(crate) enum FromLink<C> {
    /// An offer that is not this connection's. The listener answers it, and seats the client as a candidate.
    Offered {
        /// The base to which the answer is sent.
        base: Arc<C>,
        /// The new client's offer.
        offer: Buf,
        /// The random values of the answer.
        fresh: HandshakeNonce,
        /// The place in which the candidate waits for its confirmation.
        slot: Arc<CandidateSlot>,
    },
    /// A confirmation that belongs to no candidate yet. Its offer may be on its way to the listener, just in
    /// front of it.
    Confirms {
        /// The confirmation, encoded.
        confirm: Buf,
        /// The place in which the candidate may wait by now.
        slot: Arc<CandidateSlot>,
    },
    /// The new client has confirmed: the link is over, and its base carries the new connection.
    Confirmed {
        /// The base of the new connection.
        base: Arc<C>,
        /// The agreement.
        accepted: Box<Accepted>,
        /// The data that overtook the confirmation, without its headers.
        overtaken: VecDeque<Buf>,
    },
}

/// A server link's readiness to be replaced.
///
/// An offer with another id on a connection in use comes from a client that restarted on its port, or it is a
/// late duplicate from the client's earlier life, as may be the messages that follow it. The server answers
/// it with a number that it has just chosen, and changes nothing until that number comes back.
pub(super) struct Replacement<C> {
    listener: Sender<FromLink<C>>,
    /// The place of candidates, made when it is first needed.
    slot: OnceLock<Arc<CandidateSlot>>,
    /// The source of the numbers, by which a repeated offer gets its first answer again.
    fresh: NonceByOffer,
    /// Time of the client's last keep-alive.
    heard: Mutex<Instant>,
}

/// A place for a few candidates that have to confirm. At most one candidate is a client; further candidates
/// are recorded offers that were played back.
#[derive(Default)]
pub(crate) struct CandidateSlot(Mutex<VecDeque<Candidate>>);

struct Candidate {
    accepted: Box<Accepted>,
    /// The limit of replies to an address that is not validated.
    amplification_limit: AmplificationLimit,
    /// The data that came before the confirmation.
    overtaken: Overtaken,
    /// Number of turns among candidates with this tag.
    replies: u64,
    /// True if its confirmation has come, so that no other candidate takes its place. It confirms again when
    /// it has the answer, and then gets the base.
    has_confirmed: bool,
}

/// The result of taking a message of a candidate.
pub(super) struct Taken {
    /// True if the message waits for the candidate's connection.
    pub(super) is_kept: bool,
    /// The answer, to be sent once more.
    pub(super) reply: Option<Vec<u8>>,
}

impl CandidateSlot {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Candidate>> {
        self.0.lock()
    }

    /// Keeps a client as a candidate, and returns the answer to be sent. If there are too many candidates, it
    /// takes the place of the oldest candidate that has not confirmed.
    ///
    /// A candidate that is kept already stays as it is: its offer came several times before the first was
    /// decided, with more messages each time, and the client may have the first answer, which has the number
    /// of messages taken.
    pub(crate) fn take(&self, accepted: Box<Accepted>, amplification_limit: AmplificationLimit) -> Vec<u8> {
        let mut slot = self.lock();
        if let Some(kept) = slot.iter().find(|kept| kept.accepted.offer == accepted.offer) {
            return kept.accepted.reply.clone();
        }
        let reply = accepted.reply.clone();
        if slot.len() == CANDIDATES {
            let place = slot.iter().position(|kept| !kept.has_confirmed).unwrap_or_default();
            slot.remove(place);
        }
        let overtaken = Overtaken::default();
        slot.push_back(Candidate {
            accepted,
            amplification_limit,
            overtaken,
            replies: 0,
            has_confirmed: false,
        });
        reply
    }

    /// Takes a confirmation that the link has read before the offer in front of it was decided. Its candidate
    /// keeps its place from now on.
    pub(crate) fn confirm(&self, confirm: &[u8]) {
        if let Some(candidate) = self.lock().iter_mut().find(|it| it.is_confirmed_by(confirm)) {
            candidate.has_confirmed = true;
        }
    }
}

impl<C: Connection<Data = Buf>> Replacement<C> {
    /// Makes the readiness to replace a client that is there now.
    pub(super) fn new(listener: Sender<FromLink<C>>, now: Instant) -> Self {
        Self { listener, slot: OnceLock::new(), fresh: NonceByOffer::default(), heard: Mutex::new(now) }
    }

    /// Records that a keep-alive of the client has arrived.
    pub(super) fn heard(&self, now: Instant) {
        *self.heard.lock() = now;
    }

    /// Returns true if a keep-alive has arrived in the last `time`.
    pub(super) fn was_heard(&self, now: Instant, time: Duration) -> bool {
        let heard = *self.heard.lock();
        now.saturating_duration_since(heard) < time
    }

    /// Returns true if the candidates are so many that the sender of this message may have lost its place
    /// among them.
    pub(super) fn may_have_forgotten(&self, message: &[u8]) -> bool {
        let is_full = self.candidates().is_some_and(|slot| slot.len() == CANDIDATES);
        is_full && header(message).is_some_and(|(_, tag)| !self.is_candidate(tag))
    }

    fn is_candidate(&self, tag: Tag) -> bool {
        self.candidates().is_some_and(|slot| slot.iter().any(|it| it.has(tag)))
    }

    /// Returns the candidates, if there were any.
    fn candidates(&self) -> Option<MutexGuard<'_, VecDeque<Candidate>>> {
        self.slot.get().map(|slot| slot.lock())
    }

    /// Takes an offer of another connection. Returns the answer if the offer is a candidate's; otherwise asks
    /// the listener.
    ///
    /// # Errors
    /// The candidate's limit does not allow the answer, or the queue of the listener is full. The client
    /// offers again.
    pub(super) fn offered(&self, offer: Buf, hash: &[u8; 32], base: &Arc<C>) -> Result<Option<Vec<u8>>, ()> {
        let mut slot = self.candidates();
        let candidate = slot.as_mut().and_then(|slot| slot.iter_mut().find(|it| it.accepted.offer == *hash));
        if let Some(candidate) = candidate {
            candidate.amplification_limit.receive(offer.len());
            return candidate.reply().ok_or(()).map(Some);
        }
        drop(slot);
        let runtime = base.base().runtime();
        let fresh = self.fresh.of(hash, runtime.now(), || runtime.random());
        let asked = FromLink::Offered {
            base: base.clone(),
            offer,
            fresh,
            slot: self.slot.get_or_init(Arc::default).clone(),
        };
        self.listener.try_send(asked).map(|()| None).map_err(drop)
    }

    /// Takes a message of a candidate. Data is kept, up to `most` messages, and the candidate gets its answer
    /// once more, within its limit.
    ///
    /// # Errors
    /// Returns a message that is not a candidate's.
    pub(super) fn take(&self, kind: Kind, tag: Tag, message: Buf, most: usize) -> Result<Taken, Buf> {
        let Some(mut slot) = self.candidates() else { return Err(message) };
        // An attacker may have made an offer with the id of the client, so several candidates may have the
        // tag. Their answers take turns.
        let mut is_kept = false;
        for candidate in slot.iter_mut().filter(|it| kind == Kind::Data && it.has(tag)) {
            is_kept |= candidate.overtaken.keep(&message, most);
        }
        let in_turn = slot.iter_mut().filter(|it| it.has(tag)).min_by_key(|it| it.replies);
        let Some(candidate) = in_turn else { return Err(message) };
        candidate.amplification_limit.receive(message.len());
        candidate.replies += 1;
        Ok(Taken { is_kept, reply: candidate.reply() })
    }

    /// Hands the base over to the candidate whose confirmation `confirm` is. Returns false if there is none.
    pub(super) fn hand_over(&self, confirm: &[u8], base: &Arc<C>) -> bool {
        // The place in the queue first: a candidate that finds none stays, and can confirm again.
        let Ok(place) = self.listener.try_reserve() else { return false };
        let confirmed = self.candidates().and_then(|mut slot| {
            let place = slot.iter().position(|it| it.is_confirmed_by(confirm))?;
            slot.remove(place)
        });
        let Some(Candidate { accepted, overtaken, .. }) = confirmed else { return false };
        let overtaken = overtaken.into_messages();
        place.send(FromLink::Confirmed { base: base.clone(), accepted, overtaken });
        true
    }

    /// Passes a confirmation to the listener, behind the offers that it has yet to decide. If its queue is
    /// full, the client is asked again.
    pub(super) fn pass_on(&self, confirm: Buf) {
        if let Some(slot) = self.slot.get() {
            let _ = self.listener.try_send(FromLink::Confirms { confirm, slot: slot.clone() });
        }
    }
}

impl Candidate {
    fn has(&self, tag: Tag) -> bool {
        Tag::of(self.accepted.id) == tag
    }

    /// Returns true if `confirm` is the candidate's confirmation. The tag is compared first, since a proof
    /// costs computation.
    fn is_confirmed_by(&self, confirm: &[u8]) -> bool {
        let is_its_own = header(confirm).is_some_and(|(_, tag)| self.has(tag));
        is_its_own && self.accepted.is_confirmed_by(confirm)
    }

    fn reply(&mut self) -> Option<Vec<u8>> {
        self.amplification_limit.spend(self.accepted.reply.len()).then(|| self.accepted.reply.clone())
    }
}
