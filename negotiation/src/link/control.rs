//! What arrives on a link and is not data: repeated offers, closes, signs of life.

use super::{End, Shared};
use crate::wire::{self, Answer, Close, Confirm, Kind, Offer, Tag};
use bertha_core::{Base, Buf, Connection, Error, Role, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::Sender;

/// How often a close is sent before the peer is taken for gone.
const CLOSE_ATTEMPTS: u32 = 3;

/// What a server's link hands to its listener, because it concerns another connection on the same base.
pub(crate) enum FromLink<C> {
    /// An offer with another id. The listener answers it, and asks the client to send `number` back.
    Offered {
        /// Where to send the answer.
        base: Arc<C>,
        /// The new client's offer.
        offer: Buf,
        /// What confirms it.
        number: u64,
    },
    /// The new client has confirmed: the link is over, and its base carries the new connection.
    Confirmed {
        /// What the new connection stands on.
        base: Arc<C>,
        /// The new client's offer.
        offer: Buf,
    },
}

/// A server link's readiness to be replaced.
///
/// An offer with another id on a connection in use comes from a client that restarted on the same port, or it is a
/// late duplicate from the client's earlier life, and so may be whatever follows it. The server answers it with a
/// number that it chose just then, and changes nothing until that number comes back.
pub(super) struct Replacement<C> {
    listener: Sender<FromLink<C>>,
    candidate: Mutex<Option<Candidate>>,
}

struct Candidate {
    id: u64,
    offer: Buf,
    number: u64,
}

impl<C> Replacement<C> {
    pub(super) fn new(listener: Sender<FromLink<C>>) -> Self {
        Self { listener, candidate: Mutex::new(None) }
    }

    fn candidate(&self) -> MutexGuard<'_, Option<Candidate>> {
        self.candidate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the listener to answer the candidate with this tag. A full queue means more restarted clients than the
    /// listener can take; this one will speak up again. Whether there is such a candidate and the listener was asked.
    fn ask(&self, tag: Tag, base: &Arc<C>) -> bool {
        let candidate = self.candidate();
        let Some(Candidate { offer, number, .. }) = candidate.as_ref().filter(|it| Tag::of(it.id) == tag)
        else {
            return false;
        };
        let Ok(offer) = Buf::copy_of(offer, 0) else { return false };
        let asked = FromLink::Offered { base: base.clone(), offer, number: *number };
        self.listener.try_send(asked).is_ok()
    }

    /// Hands the base over to the candidate, if `confirm` is its confirmation.
    fn hand_over(&self, confirm: &Confirm, base: &Arc<C>) -> bool {
        // The place in the queue first: a candidate that finds none stays, and can confirm again.
        let Ok(place) = self.listener.try_reserve() else { return false };
        let is_confirmed = |it: &mut Candidate| it.id == confirm.id && it.number == confirm.number;
        let Some(Candidate { offer, .. }) = self.candidate().take_if(is_confirmed) else { return false };
        place.send(FromLink::Confirmed { base: base.clone(), offer });
        true
    }
}

impl<C: Connection<Data = Buf>> Shared<C> {
    /// Deals with a message that is not data of this connection.
    #[cold]
    pub(super) async fn control(&self, message: Buf) {
        let Some((kind, tag)) = wire::header(&message) else { return self.count_dropped() };
        let is_ours = tag == Tag::of(self.id);
        match kind {
            Kind::Offer if self.role == Role::Server => self.offered(message).await,
            Kind::Confirm => self.confirmed(&message),
            Kind::KeepAlive if is_ours => {}
            Kind::Close if is_ours => self.peer_closes(&message, tag).await,
            Kind::Reset if is_ours => {
                self.liveness.end(End::Reset);
            }
            // The answer to a repeated offer.
            Kind::Answer if is_ours => self.answered_again(&message).await,
            // A candidate that takes itself for connected: its confirmation was lost.
            Kind::Data | Kind::KeepAlive => {
                self.count_dropped();
                self.replacement.as_ref().map(|replacement| replacement.ask(tag, &self.base));
            }
            _ => self.count_dropped(),
        }
    }

    async fn offered(&self, message: Buf) {
        let Ok(Offer { id, .. }) = wire::decode(&message) else { return self.count_dropped() };
        if id == self.id {
            return self.send_bytes(&self.answer).await;
        }
        let Some(replacement) = &self.replacement else { return self.count_dropped() };
        if replacement.candidate().as_ref().is_none_or(|it| it.id != id) {
            let number = self.base.base().runtime().random();
            *replacement.candidate() = Some(Candidate { id, offer: message, number });
        }
        if !replacement.ask(Tag::of(id), &self.base) {
            self.count_dropped();
        }
    }

    fn confirmed(&self, message: &[u8]) {
        let confirm = wire::decode::<Confirm>(message).ok();
        let replaced = self.replacement.as_ref().zip(confirm);
        if replaced.is_some_and(|(replacement, confirm)| replacement.hand_over(&confirm, &self.base)) {
            self.liveness.end(End::Reset);
        } else {
            self.count_dropped();
        }
    }

    async fn peer_closes(&self, message: &[u8], tag: Tag) {
        let Ok(close) = wire::decode::<Close>(message) else { return self.count_dropped() };
        if close.id != self.id {
            return self.count_dropped();
        }
        self.send_bytes(&tag.header(Kind::CloseSeen)).await;
        if close.failure.is_empty() {
            self.liveness.end(End::ClosedByPeer);
        } else {
            self.liveness.peer_failed(close.failure);
        }
    }

    async fn answered_again(&self, message: &[u8]) {
        match wire::decode::<Answer>(message) {
            Ok(Answer { confirm: Some(number), .. }) => self.send_confirm(number).await,
            Ok(_) => {}
            Err(_) => self.count_dropped(),
        }
    }

    pub(super) async fn send_confirm(&self, number: u64) {
        let confirm = Confirm { id: self.id, number };
        if let Ok(message) = wire::encode(Kind::Confirm, Tag::of(self.id), &confirm) {
            self.send_bytes(&message).await;
        }
    }

    pub(crate) async fn send_keep_alive(&self) {
        self.send_bytes(&Tag::of(self.id).header(Kind::KeepAlive)).await;
    }

    pub(super) async fn send_close(&self, failure: String) {
        let close = Close { id: self.id, failure: wire::cut(failure) };
        if let Ok(message) = wire::encode(Kind::Close, Tag::of(self.id), &close) {
            self.send_bytes(&message).await;
        }
    }

    /// Sends a control message. A failure is not reported: the peer repeats what matters, and the next `send` or
    /// `recv` meets the same failure.
    async fn send_bytes(&self, bytes: &[u8]) {
        if let Ok(message) = Buf::copy_of(bytes, 0) {
            let _ = self.base.send(message).await;
        }
    }

    pub(super) async fn close(&self) -> Result<(), Error> {
        if !self.liveness.end(End::Closed) {
            return Ok(());
        }
        let runtime = self.base.base().runtime();
        for _ in 0..CLOSE_ATTEMPTS {
            self.send_close(String::new()).await;
            let deadline = pin!(runtime.sleep_until(runtime.now() + self.settings.close_timeout));
            if let Either::Right(_) = select(deadline, pin!(self.until_close_is_seen())).await {
                break;
            }
        }
        self.base.close().await
    }

    /// Reads until the peer has seen the close, or closes as well, or can't be heard any more. Data that arrives now
    /// came after the close and is dropped.
    async fn until_close_is_seen(&self) {
        while let Ok(message) = self.base.recv().await {
            match wire::header(&message) {
                Some((Kind::CloseSeen | Kind::Reset, tag)) if tag == Tag::of(self.id) => return,
                Some((Kind::Close, tag)) if tag == Tag::of(self.id) => {
                    return self.send_bytes(&tag.header(Kind::CloseSeen)).await;
                }
                _ => self.count_dropped(),
            }
        }
    }
}
