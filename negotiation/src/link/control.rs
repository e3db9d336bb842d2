//! What arrives on a link and is not data: repeated offers, closes, signs of life.

use super::{End, Shared};
use crate::wire::{self, Close, Kind, Offer, Tag};
use bertha_core::{Base, Buf, Connection, Error, Role, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::Sender;

/// How often a close is sent before the peer is taken for gone.
const CLOSE_ATTEMPTS: u32 = 3;

/// What a server's link hands to its listener, because it concerns another connection on the same base.
pub(crate) enum FromLink<C> {
    /// An offer with another id. The listener answers it, and asks the client to confirm.
    Offered {
        /// Where to send the answer.
        base: Arc<C>,
        /// The new client's offer.
        offer: Buf,
    },
    /// The new client has confirmed: the link is over, and its base carries the new connection.
    Confirmed {
        /// What the new connection stands on.
        base: Arc<C>,
        /// The new client's offer.
        offer: Buf,
        /// The message that confirmed it.
        first: Buf,
    },
}

/// A server link's readiness to be replaced.
///
/// An offer with another id on a connection in use comes from a client that restarted on the same port, or it is a
/// late duplicate from the client's earlier life. The server answers it and changes nothing until a message with the
/// new id's tag shows that its sender is there.
pub(super) struct Replacement<C> {
    listener: Sender<FromLink<C>>,
    candidate: Mutex<Option<(Tag, Buf)>>,
}

impl<C> Replacement<C> {
    pub(super) fn new(listener: Sender<FromLink<C>>) -> Self {
        Self { listener, candidate: Mutex::new(None) }
    }

    fn propose(&self, tag: Tag, offer: Buf) {
        *self.candidate.lock().unwrap_or_else(PoisonError::into_inner) = Some((tag, offer));
    }

    /// The candidate's offer, if `tag` is the candidate's.
    fn confirm(&self, tag: Tag) -> Option<Buf> {
        let mut candidate = self.candidate.lock().unwrap_or_else(PoisonError::into_inner);
        candidate.take_if(|(waiting, _)| *waiting == tag).map(|(_, offer)| offer)
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
            Kind::Data | Kind::KeepAlive if !is_ours => self.replace(tag, message),
            Kind::KeepAlive => {}
            Kind::Close if is_ours => self.peer_closes(&message, tag).await,
            Kind::Reset if is_ours => {
                self.liveness.end(End::Reset);
            }
            // The answer to a repeated offer.
            Kind::Answer if is_ours => self.send_keep_alive_if_asked(&message).await,
            _ => self.count_dropped(),
        }
    }

    async fn offered(&self, message: Buf) {
        let Ok(offer) = wire::decode::<Offer>(&message) else { return self.count_dropped() };
        if offer.id == self.id {
            return self.send_bytes(&self.answer).await;
        }
        let Some(replacement) = &self.replacement else { return self.count_dropped() };
        // A full queue means more restarted clients than the listener can take; this one will offer again.
        let offered =
            Buf::copy_of(&message, 0).map(|offer| FromLink::Offered { base: self.base.clone(), offer });
        replacement.propose(Tag::of(offer.id), message);
        if offered.map(|offered| replacement.listener.try_send(offered)).is_err() {
            self.count_dropped();
        }
    }

    fn replace(&self, tag: Tag, first: Buf) {
        let Some(replacement) = &self.replacement else { return self.count_dropped() };
        let Some(offer) = replacement.confirm(tag) else { return self.count_dropped() };
        let confirmed = FromLink::Confirmed { base: self.base.clone(), offer, first };
        if replacement.listener.try_send(confirmed).is_ok() {
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

    async fn send_keep_alive_if_asked(&self, message: &[u8]) {
        match wire::decode::<wire::Answer>(message) {
            Ok(answer) if answer.confirm => self.send_keep_alive().await,
            Ok(_) => {}
            Err(_) => self.count_dropped(),
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
