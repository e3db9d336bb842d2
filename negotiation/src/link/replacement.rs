//! A client that restarted on its port, and the connection that is still there from its earlier life.

use crate::Fresh;
use crate::auth::{MacKey, seed};
use crate::handshake::{Accepted, Credit};
use crate::wire::Tag;
use bertha_core::{Base, Buf, Connection, Runtime};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
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
    /// The new client has confirmed: the link is over, and its base carries the new connection.
    Confirmed {
        /// The base of the new connection.
        base: Arc<C>,
        /// The agreement.
        accepted: Box<Accepted>,
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
    secret: OnceLock<MacKey>,
}

/// A place for one client that has to confirm.
#[derive(Default)]
pub(crate) struct CandidateSlot(Mutex<Option<Candidate>>);

struct Candidate {
    accepted: Box<Accepted>,
    /// The limit of replies while the address is unproven.
    credit: Credit,
}

impl CandidateSlot {
    fn lock(&self) -> MutexGuard<'_, Option<Candidate>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a client to which the answer is being sent, in place of any earlier one.
    pub(crate) fn take(&self, accepted: Box<Accepted>, credit: Credit) {
        *self.lock() = Some(Candidate { accepted, credit });
    }
}

impl<C: Connection<Data = Buf>> Replacement<C> {
    pub(super) fn new(listener: Sender<FromLink<C>>) -> Self {
        Self { listener, slot: OnceLock::new(), secret: OnceLock::new() }
    }

    /// The candidate, if there is one.
    fn candidate(&self) -> Option<MutexGuard<'_, Option<Candidate>>> {
        self.slot.get().map(|slot| slot.lock())
    }

    /// Takes an offer of another connection: the candidate's answer if it is the candidate's, else the listener is
    /// asked. Fails if that can't be. A full queue means more restarted clients than the listener can take; this one
    /// will speak up again.
    pub(super) fn offered(&self, offer: Buf, hash: &[u8; 32], base: &Arc<C>) -> Result<Option<Vec<u8>>, ()> {
        let mut slot = self.candidate();
        let candidate = slot.as_mut().and_then(|slot| slot.as_mut());
        if let Some(candidate) = candidate.filter(|it| it.accepted.offer == *hash) {
            candidate.credit.receive(offer.len());
            return candidate.reply().ok_or(()).map(Some);
        }
        drop(slot);
        let secret = self.secret.get_or_init(|| seed(|| base.base().runtime().random()));
        let fresh = Fresh::derive(secret, hash);
        let asked = FromLink::Offered {
            base: base.clone(),
            offer,
            fresh,
            slot: self.slot.get_or_init(Arc::default).clone(),
        };
        self.listener.try_send(asked).map(|()| None).map_err(drop)
    }

    /// The candidate's answer once more, if it is the one with this tag that has sent `len` bytes and may get so much.
    /// Fails if it is not the candidate.
    pub(super) fn remind(&self, tag: Tag, len: usize) -> Result<Option<Vec<u8>>, ()> {
        let mut slot = self.candidate().ok_or(())?;
        let candidate = slot.as_mut().filter(|it| Tag::of(it.accepted.id) == tag).ok_or(())?;
        candidate.credit.receive(len);
        Ok(candidate.reply())
    }

    /// Hands the base over to the candidate, if `confirm` is its confirmation.
    pub(super) fn hand_over(&self, confirm: &[u8], base: &Arc<C>) -> bool {
        // The place in the queue first: a candidate that finds none stays, and can confirm again.
        let Ok(place) = self.listener.try_reserve() else { return false };
        let is_confirmed = |it: &mut Candidate| it.accepted.is_confirmed_by(confirm);
        let confirmed = self.candidate().and_then(|mut slot| slot.take_if(is_confirmed));
        let Some(Candidate { accepted, .. }) = confirmed else { return false };
        place.send(FromLink::Confirmed { base: base.clone(), accepted });
        true
    }
}

impl Candidate {
    fn reply(&mut self) -> Option<Vec<u8>> {
        self.credit.spend(self.accepted.reply.len()).then(|| self.accepted.reply.clone())
    }
}
