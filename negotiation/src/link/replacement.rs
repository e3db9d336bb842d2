//! A client that restarted on its port, and the connection that is still there from its earlier life.

use crate::Fresh;
use crate::auth::FreshByOffer;
use crate::handshake::{Accepted, CANDIDATES, Credit, Overtaken};
use crate::wire::{Kind, Tag, header};
use bertha_core::{Base, Buf, Connection, Runtime};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;

/// The messages of a server's link to its listener about another connection on the same base.
pub(crate) enum FromLink<C> {
    /// An offer that is not this connection's. The listener answers it, and seats the client as a candidate.
    Offered {
        /// Where to send the answer.
        base: Arc<C>,
        /// The new client's offer.
        offer: Buf,
        /// The random values that the answer is made with.
        fresh: Fresh,
        /// Where the candidate waits for its confirmation.
        slot: Arc<CandidateSlot>,
    },
    /// A confirmation that is of no candidate yet: its offer may be on its way to the listener, just in front of it.
    Confirms {
        /// The confirmation as it came.
        confirm: Buf,
        /// Where the candidate waits by now, if there is one.
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
/// An offer with another id on a connection in use comes from a client that restarted on the same port, or it is a
/// late duplicate from the client's earlier life, and so may be whatever follows it. The server answers it with a
/// number that it chose just then, and changes nothing until that number comes back.
pub(super) struct Replacement<C> {
    listener: Sender<FromLink<C>>,
    /// Made when it is first needed.
    slot: OnceLock<Arc<CandidateSlot>>,
    /// From which the numbers come, so that a repeated offer gets the same answer.
    fresh: FreshByOffer,
    /// When the client's last sign of life came.
    heard: Mutex<Instant>,
}

/// A place for a few clients that have to confirm, of which at most one is there: others are offers of the past, played back.
#[derive(Default)]
pub(crate) struct CandidateSlot(Mutex<VecDeque<Candidate>>);

struct Candidate {
    accepted: Box<Accepted>,
    /// The limit of replies while the address is unproven.
    credit: Credit,
    /// The data that came before the confirmation, which is late or lost.
    overtaken: Overtaken,
    /// How often it had its turn among candidates with the same tag.
    replies: u64,
    /// Whether its confirmation has come, and proves that it is the client: no other takes its place. It confirms again when it has
    /// the answer, and then gets the base.
    has_confirmed: bool,
}

/// The fate of a message of the candidate.
pub(super) struct Taken {
    /// Whether it waits for the candidate's connection.
    pub(super) is_kept: bool,
    /// The answer, to be sent once more.
    pub(super) reply: Option<Vec<u8>>,
}

impl CandidateSlot {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Candidate>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a client, in place of the oldest that has not confirmed if there are too many, and gives the answer to be sent.
    ///
    /// A client that is kept already stays as it is: its offer came several times before the first was decided, with more messages
    /// each time, and it may have the first answer, which says how many were taken.
    pub(crate) fn take(&self, accepted: Box<Accepted>, credit: Credit) -> Vec<u8> {
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
        slot.push_back(Candidate { accepted, credit, overtaken, replies: 0, has_confirmed: false });
        reply
    }

    /// Takes a confirmation that the link has read before the offer in front of it was decided. Its candidate, if there is one, keeps
    /// its place from now on.
    pub(crate) fn confirm(&self, confirm: &[u8]) {
        if let Some(candidate) = self.lock().iter_mut().find(|it| it.is_confirmed_by(confirm)) {
            candidate.has_confirmed = true;
        }
    }
}

impl<C: Connection<Data = Buf>> Replacement<C> {
    /// For a client that is there now.
    pub(super) fn new(listener: Sender<FromLink<C>>, now: Instant) -> Self {
        Self { listener, slot: OnceLock::new(), fresh: FreshByOffer::default(), heard: Mutex::new(now) }
    }

    /// A sign of life of the client has arrived.
    pub(super) fn heard(&self, now: Instant) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Whether there was one in the last `time`.
    pub(super) fn was_heard(&self, now: Instant, time: Duration) -> bool {
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(heard) < time
    }

    /// Whether so many have wanted the base that the sender of this message may have been one of them.
    pub(super) fn may_have_forgotten(&self, message: &[u8]) -> bool {
        let is_full = self.candidates().is_some_and(|slot| slot.len() == CANDIDATES);
        is_full && header(message).is_some_and(|(_, tag)| !self.is_candidate(tag))
    }

    fn is_candidate(&self, tag: Tag) -> bool {
        self.candidates().is_some_and(|slot| slot.iter().any(|it| it.has(tag)))
    }

    /// The candidates, if there were any.
    fn candidates(&self) -> Option<MutexGuard<'_, VecDeque<Candidate>>> {
        self.slot.get().map(|slot| slot.lock())
    }

    /// Takes an offer of another connection: the candidate's answer if it is the candidate's, else the listener is
    /// asked. Fails if that can't be. A full queue means more restarted clients than the listener can take; this one
    /// will speak up again.
    pub(super) fn offered(&self, offer: Buf, hash: &[u8; 32], base: &Arc<C>) -> Result<Option<Vec<u8>>, ()> {
        let mut slot = self.candidates();
        let candidate = slot.as_mut().and_then(|slot| slot.iter_mut().find(|it| it.accepted.offer == *hash));
        if let Some(candidate) = candidate {
            candidate.credit.receive(offer.len());
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

    /// Takes a message of another connection. If it is a candidate's, data is kept, unless `most` messages are already, and the
    /// candidate gets its answer once more, if it may get so much. If it is not, gives the message back.
    pub(super) fn take(&self, (kind, tag): (Kind, Tag), message: Buf, most: usize) -> Result<Taken, Buf> {
        let Some(mut slot) = self.candidates() else { return Err(message) };
        // An observer may have made an offer with the id of another, so several candidates may have the tag. Their answers take turns.
        let mut is_kept = false;
        for candidate in slot.iter_mut().filter(|it| kind == Kind::Data && it.has(tag)) {
            is_kept |= candidate.overtaken.keep(&message, most);
        }
        let in_turn = slot.iter_mut().filter(|it| it.has(tag)).min_by_key(|it| it.replies);
        let Some(candidate) = in_turn else { return Err(message) };
        candidate.credit.receive(message.len());
        candidate.replies += 1;
        Ok(Taken { is_kept, reply: candidate.reply() })
    }

    /// Hands the base over to the candidate, if `confirm` is its confirmation.
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

    /// Sends a confirmation after the offers that the listener has yet to decide. Without a place in its queue, the client is asked
    /// again.
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

    /// Only the client can make its confirmation, with credentials; so one for another tag costs no computation.
    fn is_confirmed_by(&self, confirm: &[u8]) -> bool {
        let is_its_own = header(confirm).is_some_and(|(_, tag)| self.has(tag));
        is_its_own && self.accepted.is_confirmed_by(confirm)
    }

    fn reply(&mut self) -> Option<Vec<u8>> {
        self.credit.spend(self.accepted.reply.len()).then(|| self.accepted.reply.clone())
    }
}
