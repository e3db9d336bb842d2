//! Messages of a link that are not data: repeated offers, closes, signs of life.

use super::replacement::Replacement;
use super::{Agreed, End, Shared};
use crate::auth::offer_hash;
use crate::handshake::{path, question, unknown};
use crate::wire::{self, Answer, COOKIE, Close, Confirm, DROPPED, Kind, Retry, Tag};
use bertha_core::{Base, Buf, Connection, Runtime};
use std::sync::PoisonError;
use std::time::Instant;

/// How often a client makes its offer again when a server asks.
const MOST_OFFERS: u8 = 8;

impl<C: Connection<Data = Buf>> Shared<C> {
    /// Deals with a message that is not data of this connection.
    #[cold]
    pub(super) async fn control(&self, message: Buf) {
        let Some((kind, tag)) = wire::header(&message) else { return self.count_dropped() };
        let is_ours = tag == Tag::of(self.id);
        match kind {
            Kind::Offer | Kind::Returned | Kind::Early => self.on_offer(message).await,
            Kind::Confirm => self.on_confirm(message, is_ours).await,
            Kind::KeepAlive if is_ours && self.session().is_keep_alive(&message) => self.on_keep_alive(),
            Kind::Close if is_ours => self.on_close(&message, tag).await,
            Kind::Reset if is_ours && self.session().asks_for_keep_alive(&message) => {
                self.on_question().await;
            }
            Kind::Reset if is_ours && self.session().is_reset(&message) => {
                self.liveness.end(End::Reset);
            }
            Kind::Retry if is_ours => self.on_retry(&message).await,
            Kind::Upgrade if is_ours => self.peer_upgrades(&message).await,
            // The answer to a repeated offer.
            Kind::Answer if is_ours => self.on_repeated_answer(&message).await,
            Kind::Data | Kind::KeepAlive | Kind::Close if !is_ours => {
                self.on_other_connection(message, (kind, tag)).await
            }
            _ => self.count_dropped(),
        }
    }

    /// Deals with messages of another connection, if there is one. The sender may be a candidate that takes itself for
    /// connected, since its confirmation was lost, or a client that the server has given up.
    async fn on_other_connection(&self, message: Buf, header: (Kind, Tag)) {
        let Some(replacement) = &self.replacement else { return self.count_dropped() };
        let (is_kept, reply) = match replacement.take(header, message, self.settings.early_messages) {
            Ok(taken) => (taken.is_kept, taken.reply),
            Err(message) if replacement.may_have_forgotten(&message) => {
                (false, question(&message, &self.settings.credentials))
            }
            Err(message) => {
                let path = path(&self.base.base().local_addr(), &self.base.base().peer_addr());
                (false, unknown(&message, &self.settings.credentials, &path))
            }
        };
        if !is_kept {
            self.count_dropped();
        }
        if let Some(reply) = reply {
            // Within the candidate's credit, or no longer than the message.
            self.transmit_bytes(&reply).await;
        }
    }

    async fn on_offer(&self, message: Buf) {
        let (Some(replacement), Some(Agreed::Server { offer, answer })) =
            (&self.replacement, self.agreed.get())
        else {
            return self.count_dropped();
        };
        let Some(hash) = wire::offer_in(&message).map(|(offer, _)| offer_hash(offer)) else {
            return self.count_dropped();
        };
        if hash == *offer {
            self.liveness.arrived();
            self.credit_for_offer(&message);
            return self.send_bytes(answer).await;
        }
        match replacement.offered(message, &hash, &self.base) {
            Ok(Some(reply)) => self.transmit_bytes(&reply).await,
            Ok(None) => {}
            Err(()) => self.count_dropped(),
        }
    }

    /// A sign of life, which is genuine if there are proofs.
    fn on_keep_alive(&self) {
        self.liveness.arrived();
        if let Some(replacement) = &self.replacement {
            replacement.heard(self.base.base().runtime().now());
        }
    }

    async fn on_confirm(&self, message: Buf, is_ours: bool) {
        if self.is_confirmed_by(&message) {
            return;
        }
        let Some(replacement) = &self.replacement else { return self.count_dropped() };
        if !self.is_client_there(replacement) && replacement.hand_over(&message, &self.base) {
            self.liveness.end(End::Reset);
            return;
        }
        self.count_dropped();
        if !is_ours
            && replacement.may_have_forgotten(&message)
            && let Some(question) = question(&message, &self.settings.credentials)
        {
            replacement.pass_on(message);
            self.transmit_bytes(&question).await;
        }
    }

    /// Whether it is certain that the client has not restarted. A candidate with credentials has proved that it is the client; one
    /// without may be any observer of the client's messages, and waits until the client's signs of life have failed to come.
    fn is_client_there(&self, replacement: &Replacement<C>) -> bool {
        let is_proved = self.session().is_secured() && !self.session().has_credentials();
        is_proved && replacement.was_heard(self.base.base().runtime().now(), self.idle_timeout / 3)
    }

    async fn on_close(&self, message: &[u8], tag: Tag) {
        match self.session().decode_close(message) {
            Ok(close) if close.id == self.id => {
                self.send_close_seen(tag).await;
                self.put_off(close).into_iter().for_each(|close| self.closed_by_peer(close));
            }
            _ => self.count_dropped(),
        }
    }

    pub(super) fn closed_by_peer(&self, close: Close) {
        match &*close.failure {
            "" => _ = self.liveness.end(End::ClosedByPeer),
            DROPPED => _ = self.liveness.end(End::DroppedByPeer),
            _ => self.liveness.peer_failed(close.failure),
        }
    }

    async fn on_repeated_answer(&self, message: &[u8]) {
        let Some(Agreed::Client { answer, confirm, early, .. }) = self.agreed.get() else {
            return self.count_dropped();
        };
        let number = match self.session().has_credentials() {
            true if message == answer => *confirm,
            true => return self.count_dropped(),
            false => match wire::decode::<Answer>(message) {
                // One that says something else of the first messages belongs to another connection.
                Ok(answer) if answer.early == *early => answer.confirm,
                _ => return self.count_dropped(),
            },
        };
        if let Some(number) = number {
            self.send_confirm(number).await;
        }
    }

    /// Shows a server that does not know this connection, or pretends so, that the client is there; not more often than an
    /// offer is repeated, since anybody that has seen the tag can ask. A server that has forgotten the offer before it was confirmed gets it
    /// again, with the confirmation right behind it, so that nobody's offers come between; one that has forgotten the connection ends it.
    async fn on_question(&self) {
        let now = self.base.base().runtime().now();
        let Some(questions) = self.take_question(now) else { return self.count_dropped() };
        self.send_keep_alive().await;
        if questions <= MOST_OFFERS
            && let Some((offer, number)) = self.unconfirmed_offer(None)
        {
            self.transmit_bytes(&offer).await;
            self.send_confirm(number).await;
        }
    }

    /// The offer, with this cookie if there is one, and the number that confirms it, for a server that may have had to forget it.
    fn unconfirmed_offer(&self, cookie: Option<&[u8; COOKIE]>) -> Option<(Vec<u8>, u64)> {
        let Some(Agreed::Client { offer, confirm: Some(number), early, .. }) = self.agreed.get() else {
            return None;
        };
        if !self.session().has_credentials() {
            return None;
        }
        let offer = match (early, cookie) {
            (0, None) => offer.clone(),
            (0, Some(cookie)) => wire::envelop(cookie, wire::offer_in(offer)?.0)?,
            _ => self.flight_again(cookie)?,
        };
        Some((offer, *number))
    }

    /// Makes an offer again that the server has asked for, with the cookie that it wants by now. Once for each question, since anybody
    /// that has seen the tag can send this as well.
    async fn on_retry(&self, message: &[u8]) {
        let retry = wire::decode::<Retry>(message).ok().filter(|retry| retry.id == self.id);
        let returned = retry.and_then(|Retry { cookie, .. }| self.unconfirmed_offer(Some(&cookie)));
        let Some((returned, number)) = returned.filter(|_| self.take_offer()) else {
            return self.count_dropped();
        };
        self.transmit_bytes(&returned).await;
        self.send_confirm(number).await;
    }

    /// The server asks. Returns how often it has, unless that was just before.
    fn take_question(&self, now: Instant) -> Option<u8> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.last.is_some_and(|last| now < last + self.settings.repeat_after) {
            return None;
        }
        asked.last = Some(now);
        asked.count = asked.count.saturating_add(1);
        asked.offered = asked.count <= MOST_OFFERS;
        Some(asked.count)
    }

    /// Whether the offer was made again, and was not returned with a cookie since.
    fn take_offer(&self) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut asked.offered)
    }

    pub(super) async fn send_confirm(&self, number: u64) {
        let confirm = Confirm { id: self.id, number };
        if let Some(message) = self.session().encode_confirm(Tag::of(self.id), &confirm) {
            self.send_bytes(&message).await;
        }
    }

    pub(crate) async fn send_keep_alive(&self) {
        if let Some(message) = self.session().keep_alive(Tag::of(self.id)) {
            self.send_bytes(&message).await;
        }
    }

    pub(super) async fn send_close(&self, failure: String) {
        let close = Close { id: self.id, failure: wire::cut_to(failure, self.longest_reason()) };
        if let Some(message) = self.session().encode(Kind::Close, Tag::of(self.id), &close) {
            self.send_bytes(&message).await;
        }
    }

    pub(super) async fn send_close_seen(&self, tag: Tag) {
        if let Some(message) = self.session().close_seen(tag) {
            self.send_bytes(&message).await;
        }
    }

    /// Sends a control message, unless it is more than an address that is not proven may get. That is not reported, and no
    /// failure is: the peer repeats what matters, and the next `send` or `recv` meets the same failure.
    pub(super) async fn send_bytes(&self, bytes: &[u8]) {
        if self.may_send(bytes.len()) {
            self.transmit_bytes(bytes).await;
        }
    }

    /// As `send_bytes`, of bytes that are charged to nothing or are charged already.
    pub(super) async fn transmit_bytes(&self, bytes: &[u8]) {
        if let Ok(message) = Buf::copy_of(bytes, 0) {
            let _ = self.base.send(message).await;
        }
    }
}
