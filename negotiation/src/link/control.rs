//! Messages of a link that are not data: repeated offers, closes, keep-alives, resets.

use super::replacement::Replacement;
use super::{Agreed, End, LinkShared};
use crate::auth::offer_hash;
use crate::handshake::{ResetMeaning, are_you_there, path, reply_to_unknown};
use crate::wire::{self, Answer, COOKIE, Close, Confirm, DROPPED, Kind, Retry, Tag};
use bertha_core::{Base, Buf, Connection, Runtime};
use std::time::Instant;

/// Maximum number of times that a client makes its offer again when a server asks if the client is there.
const MAX_OFFERS: u8 = 8;

/// The are-you-there messages of a server. They are limited, since an attacker that has seen the tag can send
/// them.
#[derive(Default)]
pub(super) struct ServerQuestions {
    last: Option<Instant>,
    count: u8,
    /// True if the reply to the last question was the offer, and no cookie has been asked for since.
    is_offered: bool,
}

impl<C: Connection<Data = Buf>> LinkShared<C> {
    /// Handles a message that is not data of this connection.
    #[cold]
    pub(super) async fn control(&self, message: Buf) {
        let Some((kind, tag)) = wire::header(&message) else { return self.count_dropped() };
        let is_ours = tag == Tag::of(self.id);
        match kind {
            Kind::Offer | Kind::Returned | Kind::Early => self.on_offer(message).await,
            Kind::Confirm => self.on_confirm(message, is_ours).await,
            Kind::KeepAlive if is_ours && self.session().is_keep_alive(&message) => self.on_keep_alive(),
            Kind::Close if is_ours => self.on_close(&message, tag).await,
            Kind::Reset if is_ours => match ResetMeaning::read(self.session(), &message) {
                Some(ResetMeaning::AreYouThere) => self.on_are_you_there().await,
                Some(ResetMeaning::Reset) => _ = self.end(End::Reset),
                None => self.count_dropped(),
            },
            Kind::Retry if is_ours => self.on_retry(&message).await,
            Kind::Upgrade if is_ours => self.peer_upgrades(&message).await,
            // The answer to a repeated offer.
            Kind::Answer if is_ours => self.on_repeated_answer(&message).await,
            Kind::Data | Kind::KeepAlive | Kind::Close if !is_ours => {
                self.on_other_connection(message, kind, tag).await
            }
            _ => self.count_dropped(),
        }
    }

    /// Handles a message of another connection on this base. Its sender may be a candidate that takes itself
    /// for connected, since its confirmation was lost, or a client that the server has given up.
    async fn on_other_connection(&self, message: Buf, kind: Kind, tag: Tag) {
        let Some(replacement) = &self.replacement else { return self.count_dropped() };
        let (is_kept, reply) = match replacement.take(kind, tag, message, self.settings.early_messages) {
            Ok(taken) => (taken.is_kept, taken.reply),
            Err(message) if replacement.may_have_forgotten(&message) => {
                (false, are_you_there(&message, &self.settings.credentials))
            }
            Err(message) => {
                let path = path(&self.base.base().local_addr(), &self.base.base().peer_addr());
                (false, reply_to_unknown(&message, &self.settings.credentials, &path))
            }
        };
        if !is_kept {
            self.count_dropped();
        }
        if let Some(reply) = reply {
            // Within the candidate's anti-amplification limit, or no longer than the message.
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
            self.lifecycle.arrived();
            self.count_offer(&message);
            return self.send_bytes(answer).await;
        }
        match replacement.offered(message, &hash, &self.base) {
            Ok(Some(reply)) => self.transmit_bytes(&reply).await,
            Ok(None) => {}
            Err(()) => self.count_dropped(),
        }
    }

    /// Handles a keep-alive, which is genuine if there are proofs.
    fn on_keep_alive(&self) {
        self.lifecycle.arrived();
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
            self.end(End::Reset);
            return;
        }
        self.count_dropped();
        if !is_ours
            && replacement.may_have_forgotten(&message)
            && let Some(reply) = are_you_there(&message, &self.settings.credentials)
        {
            replacement.pass_on(message);
            self.transmit_bytes(&reply).await;
        }
    }

    /// Returns true if the client has certainly not restarted. A candidate with credentials has proved that
    /// it is the client. A candidate without credentials may be an observer of the client's messages, and
    /// waits until the client's keep-alives have failed to come.
    fn is_client_there(&self, replacement: &Replacement<C>) -> bool {
        let is_proved = self.session().is_secured() && !self.session().has_credentials();
        is_proved && replacement.was_heard(self.base.base().runtime().now(), self.idle_timeout / 3)
    }

    async fn on_close(&self, message: &[u8], tag: Tag) {
        match self.session().decode_close(message) {
            Ok(close) if close.id == self.id => {
                self.send_close_seen(tag).await;
                self.keep_close(close).into_iter().for_each(|close| self.closed_by_peer(close));
            }
            _ => self.count_dropped(),
        }
    }

    pub(super) fn closed_by_peer(&self, close: Close) {
        match &*close.failure {
            "" => _ = self.end(End::ClosedByPeer),
            DROPPED => _ = self.end(End::DroppedByPeer),
            _ => {
                let (peer, failure) = (self.base.base().peer_addr(), &close.failure);
                tracing::debug!(target: "bertha::negotiation", %peer, %failure, "the peer could not set up its stack");
                self.lifecycle.peer_failed(close.failure);
            }
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
                // An answer with another number of early messages belongs to another connection.
                Ok(answer) if answer.early == *early => answer.confirm,
                _ => return self.count_dropped(),
            },
        };
        if let Some(number) = number {
            self.send_confirm(number).await;
        }
    }

    /// Replies to an are-you-there with a keep-alive, at most as often as an offer is repeated.
    ///
    /// A server that has forgotten the offer before it was confirmed gets the offer again, with the
    /// confirmation right behind it, so that no attacker's offers come between. A server that has forgotten
    /// the connection replies to the keep-alive with a reset.
    async fn on_are_you_there(&self) {
        let now = self.base.base().runtime().now();
        let Some(questions) = self.take_question(now) else { return self.count_dropped() };
        self.send_keep_alive().await;
        if questions <= MAX_OFFERS
            && let Some((offer, number)) = self.unconfirmed_offer(None)
        {
            self.transmit_bytes(&offer).await;
            self.send_confirm(number).await;
        }
    }

    /// Returns the offer, with this cookie if there is one, and the number that confirms it, for a server
    /// that may have forgotten the offer.
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
            _ => self.repeat_flight(cookie)?,
        };
        Some((offer, *number))
    }

    /// Makes the offer again with the cookie that the server demands by now. This happens at most once for
    /// each are-you-there, since an attacker that has seen the tag can send a retry as well.
    async fn on_retry(&self, message: &[u8]) {
        let retry = wire::decode::<Retry>(message).ok().filter(|retry| retry.id == self.id);
        let returned = retry.and_then(|Retry { cookie, .. }| self.unconfirmed_offer(Some(&cookie)));
        let Some((returned, number)) = returned.filter(|_| self.take_offer()) else {
            return self.count_dropped();
        };
        self.transmit_bytes(&returned).await;
        self.send_confirm(number).await;
    }

    /// Counts an are-you-there. Returns the number of them; `None` if the last came less than `repeat_after`
    /// ago.
    fn take_question(&self, now: Instant) -> Option<u8> {
        let mut questions = self.questions.lock();
        if questions.last.is_some_and(|last| now < last + self.settings.repeat_after) {
            return None;
        }
        questions.last = Some(now);
        questions.count = questions.count.saturating_add(1);
        questions.is_offered = questions.count <= MAX_OFFERS;
        Some(questions.count)
    }

    /// Returns true if the offer was made again since the last call of this method.
    fn take_offer(&self) -> bool {
        std::mem::take(&mut self.questions.lock().is_offered)
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
        let close = Close { id: self.id, failure: wire::cut_to(failure, self.max_reason()) };
        if let Some(message) = self.session().encode(Kind::Close, Tag::of(self.id), &close) {
            self.send_bytes(&message).await;
        }
    }

    pub(super) async fn send_close_seen(&self, tag: Tag) {
        if let Some(message) = self.session().close_seen(tag) {
            self.send_bytes(&message).await;
        }
    }

    /// Sends a message about the connection, unless it exceeds the anti-amplification limit. A message that
    /// is not sent is not reported, nor is a failure: the peer repeats important messages, and the next
    /// `send` or `recv` meets the failure too.
    pub(super) async fn send_bytes(&self, bytes: &[u8]) {
        if self.spend(bytes.len()) {
            self.transmit_bytes(bytes).await;
        }
    }

    /// Sends bytes that are charged to no limit, or are charged already.
    pub(super) async fn transmit_bytes(&self, bytes: &[u8]) {
        if let Ok(message) = Buf::copy_of(bytes, 0)
            && self.base.send(message).await.is_err_and(|error| !error.ends_connection())
        {
            self.session().add_not_sent(1);
        }
    }
}
