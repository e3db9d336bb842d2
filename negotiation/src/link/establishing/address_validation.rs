//! A server's link to an address that may not be its client's.
//!
//! The server has let the client in on its word. The client validates its address by sending back the number
//! in the answer, which it only knows if it receives at that address. Until then the anti-amplification limit
//! (RFC 9000 section 8.1) covers every byte to the address, the application's bytes included. A `send` beyond
//! the limit waits, and reads meanwhile, since no reception may wait.

use crate::Settings;
use crate::handshake::{AmplificationLimit, CLOSE_ALLOWANCE};
use crate::link::connection::strip;
use crate::link::{Agreed, Counted, End, EpochQueue, Link, LinkShared, LinkState, Parked};
use crate::wire::{self, HEADER, Kind, TEXT_LIMIT, Tag};
use bertha_core::{Base, Buf, Connection, Error, Runtime};
use futures_util::future::{Either, FutureExt, select};
use parking_lot::{Mutex, MutexGuard};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum pause between two repetitions of the answer.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Minimum length of the text about a failure, in bytes.
const MIN_REASON: usize = 16;

/// Maximum number of messages that are read while the application reads none.
const MAX_READ_AHEAD: usize = 16;

/// A server's demand that its client prove its address.
pub(crate) struct AddressChallenge {
    /// The number in the answer, which the client has to send back.
    pub(crate) number: u64,
    /// The limit of the bytes that the server sends to the address.
    pub(crate) amplification_limit: AmplificationLimit,
    /// The client's place among the clients at unvalidated addresses.
    pub(crate) counted: Counted,
}

/// An address that the client has yet to prove, until it has done so.
pub(in crate::link) struct UnvalidatedAddress {
    /// The number that proves the address.
    number: u64,
    /// Time at which the link ends if the address is not validated.
    deadline: Instant,
    /// `None` once the address is validated.
    unvalidated: Mutex<Option<Unvalidated>>,
    /// The application's messages that are read before it asks for them.
    queue: Arc<EpochQueue>,
    /// Pause before the first repetition of the answer.
    min_pause: Duration,
}

/// The limit, and the repetitions of the answer.
struct Unvalidated {
    amplification_limit: AmplificationLimit,
    /// Time at which the answer was sent last.
    sent_at: Instant,
    /// Pause until the answer is due again.
    pause: Duration,
    /// True if the answer is repeated: the client takes itself for connected, or the limit holds data back.
    is_repeated: bool,
    _counted: Counted,
}

impl UnvalidatedAddress {
    pub(in crate::link) fn new(
        challenge: AddressChallenge,
        queue: &Arc<EpochQueue>,
        settings: &Settings,
        now: Instant,
    ) -> Self {
        let unvalidated = Unvalidated {
            amplification_limit: challenge.amplification_limit,
            sent_at: now,
            pause: settings.repeat_after,
            is_repeated: false,
            _counted: challenge.counted,
        };
        Self {
            number: challenge.number,
            deadline: now + settings.handshake_timeout,
            unvalidated: Mutex::new(Some(unvalidated)),
            queue: queue.clone(),
            min_pause: settings.repeat_after,
        }
    }

    fn unvalidated(&self) -> MutexGuard<'_, Option<Unvalidated>> {
        self.unvalidated.lock()
    }

    /// Counts a message of `len` bytes from the address, whose client takes itself for connected.
    fn received(&self, len: usize) {
        if let Some(it) = &mut *self.unvalidated() {
            it.amplification_limit.receive(len);
            it.is_repeated = true;
            it.pause = self.min_pause;
        }
    }

    /// Counts a repeated offer of `len` bytes from the address, which is answered at once.
    fn received_offer(&self, len: usize, now: Instant) {
        if let Some(it) = &mut *self.unvalidated() {
            it.amplification_limit.receive(len);
            it.sent_at = now;
        }
    }

    /// Has the answer repeated, since the limit holds data back.
    fn repeat_answer(&self) {
        if let Some(it) = &mut *self.unvalidated() {
            it.is_repeated = true;
        }
    }

    /// Returns true if the limit allows `len` bytes and leaves `rest` bytes. Then the `len` bytes count as
    /// sent.
    fn spend(&self, len: usize, rest: usize) -> bool {
        self.unvalidated()
            .as_mut()
            .is_none_or(|it| it.amplification_limit.left() >= len + rest && it.amplification_limit.spend(len))
    }

    /// Returns true if the limit allows `len` bytes of the application.
    fn allows(&self, len: usize) -> bool {
        self.unvalidated().as_ref().is_none_or(|it| it.amplification_limit.left() >= len + CLOSE_ALLOWANCE)
    }

    /// Validates the address, if it was not validated and this is its number.
    fn validate(&self, number: u64) -> bool {
        number == self.number && self.unvalidated().take().is_some()
    }

    pub(super) fn is_validated(&self) -> bool {
        self.unvalidated().is_none()
    }

    /// Returns the time at which the answer may be due, or the link may end.
    fn poll_timeout(&self) -> Instant {
        let unvalidated = self.unvalidated();
        let due = unvalidated.as_ref().filter(|it| it.is_repeated).map(|it| it.sent_at + it.pause);
        due.map_or(self.deadline, |due| due.min(self.deadline))
    }

    /// Returns true if an answer of `len` bytes is due and within the limit. Then it counts as sent.
    fn take_repetition(&self, len: usize, now: Instant) -> bool {
        let mut unvalidated = self.unvalidated();
        let is_due = |it: &&mut Unvalidated| it.is_repeated && now >= it.sent_at + it.pause;
        let Some(it) = unvalidated.as_mut().filter(is_due) else { return false };
        it.sent_at = now;
        it.pause = (it.pause * 2).min(MAX_PAUSE);
        it.amplification_limit.spend(len)
    }

    /// Returns the number of bytes that the limit leaves; `None` once the address is validated.
    fn left(&self) -> Option<usize> {
        self.unvalidated().as_ref().map(|it| it.amplification_limit.left())
    }
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// Receives on a link whose peer has yet to prove its address. Returns `None` if the message is not of
    /// this epoch, or the queue has news.
    pub(super) async fn receive_unvalidated(&self) -> Result<Option<Buf>, Error> {
        let shared = &*self.shared;
        let has_news = || {
            let state = self.queue.state();
            self.queue.is_queued() || EpochQueue::is_not_reader(state) || EpochQueue::has_peer_closed(state)
        };
        let Some(mut message) = shared.read_unvalidated(&self.queue, || !has_news()).await? else {
            return Ok(None);
        };
        if strip(&mut message, self.queue.header) {
            return Ok(Some(message));
        }
        shared.deal_with(Some(&self.queue), [message]).await;
        Ok(None)
    }
}

impl<C: Connection<Data = Buf>> LinkShared<C> {
    /// Sends data with its header as soon as the anti-amplification limit allows it, or the address is
    /// validated.
    ///
    /// # Errors
    /// The reason why the link ends meanwhile, such as a client that does not confirm in time, or an error of
    /// the base.
    pub(super) async fn send_within_limit(&self, data: Buf, queue: &Arc<EpochQueue>) -> Result<(), Error> {
        // The base reports an error for data that is too large.
        let is_sendable = data.len() <= self.base.mtu();
        if let Some(address) = self.unvalidated.as_ref().filter(|_| is_sendable) {
            while !address.spend(data.len(), CLOSE_ALLOWANCE) {
                address.repeat_answer();
                let read = self.read_unvalidated(queue, || !address.allows(data.len())).await?;
                if let Some(message) = read {
                    self.deal_with(Some(queue), [message]).await;
                }
            }
        }
        self.lifecycle.check()?;
        self.base.send(data).await
    }

    /// Reads the next message on a link whose peer has yet to prove its address, and repeats the answer when
    /// it is due. Returns `None` if `waits` no longer holds, the address is validated, or the queue has news.
    /// Cancellation-safe.
    async fn read_unvalidated(
        &self,
        queue: &EpochQueue,
        waits: impl Fn() -> bool + Unpin,
    ) -> Result<Option<Buf>, Error> {
        let Some(address) = &self.unvalidated else { return Ok(None) };
        let runtime = self.base.base().runtime();
        let state = queue.state();
        let waits = || self.lifecycle.is(LinkState::AddressUnvalidated) && waits();
        loop {
            self.lifecycle.check()?;
            if !waits() {
                return Ok(None);
            }
            let timer = pin!(runtime.sleep_until(address.poll_timeout()));
            let reception = pin!(self.base.recv());
            let reception = Parked::while_waiting(&self.lifecycle, queue, state, reception, waits);
            match select(pin!(reception), timer).await {
                Either::Left((received, _)) => {
                    let Some(message) = received? else { return Ok(None) };
                    self.lifecycle.arrived();
                    self.count_received(&message);
                    return Ok(Some(message));
                }
                Either::Right(_) => self.validation_timeout(address).await,
            }
        }
    }

    /// Reads a few messages that are there already, so that the address can be validated before the
    /// application asks for its messages.
    pub(in crate::link) async fn look_for_confirmation(&self) {
        let Some(address) = &self.unvalidated else { return };
        for _ in 0..MAX_READ_AHEAD {
            if !self.lifecycle.is(LinkState::AddressUnvalidated) || address.queue.is_full() {
                return;
            }
            let Some(Ok(message)) = pin!(self.base.recv()).now_or_never() else { return };
            self.lifecycle.arrived();
            self.count_received(&message);
            self.deal_with(Some(&address.queue), [message]).await;
        }
    }

    /// Repeats the answer if it is due, or ends the link if the time for the proof is over.
    async fn validation_timeout(&self, address: &UnvalidatedAddress) {
        let now = self.base.base().runtime().now();
        if now >= address.deadline && !address.is_validated() {
            self.lifecycle.end(End::AddressNotValidated);
        } else if let Some(Agreed::Server { answer, .. }) = self.agreed.get()
            && address.take_repetition(answer.len(), now)
        {
            self.transmit_bytes(answer).await;
        }
    }

    /// Counts a received message of this connection. Offers are counted where they are handled.
    pub(in crate::link) fn count_received(&self, message: &[u8]) {
        let Some(address) = &self.unvalidated else { return };
        if let Some((Kind::Data | Kind::KeepAlive | Kind::Close | Kind::Upgrade, tag)) = wire::header(message)
            && tag == Tag::of(self.id)
        {
            address.received(message.len());
            self.wake_for_limit();
        }
    }

    /// Counts a repetition of the offer.
    pub(in crate::link) fn count_offer(&self, offer: &[u8]) {
        if let Some(address) = &self.unvalidated {
            address.received_offer(offer.len(), self.base.base().runtime().now());
            self.wake_for_limit();
        }
    }

    /// Wakes a `send` that waits for a larger limit.
    fn wake_for_limit(&self) {
        if self.lifecycle.is(LinkState::AddressUnvalidated) {
            self.lifecycle.wake();
        }
    }

    /// Returns true if the message is the client's confirmation, which validates its address.
    pub(in crate::link) fn is_confirmed_by(&self, message: &[u8]) -> bool {
        let Some(address) = &self.unvalidated else { return false };
        let confirm = self.session().decode_confirm(message).ok().filter(|confirm| confirm.id == self.id);
        if confirm.is_none_or(|confirm| confirm.number != address.number) {
            return false;
        }
        if address.validate(address.number) {
            self.lifecycle.address_validated();
        }
        true
    }

    /// Returns true if the limit allows `len` bytes that are no data. Then they count as sent.
    pub(in crate::link) fn spend(&self, len: usize) -> bool {
        self.unvalidated.as_ref().is_none_or(|address| address.spend(len, 0))
    }

    /// Returns the maximum length of a text about a failure, in bytes.
    pub(in crate::link) fn max_reason(&self) -> usize {
        let left = self.unvalidated.as_ref().and_then(UnvalidatedAddress::left);
        left.map_or(TEXT_LIMIT, |left| TEXT_LIMIT.min(left.saturating_sub(CLOSE_ALLOWANCE)).max(MIN_REASON))
    }
}

const _: () = assert!(HEADER + 1 + 10 + 1 + MIN_REASON + 4 <= CLOSE_ALLOWANCE, "a close fits");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LiveCount;
    use std::collections::VecDeque;

    const MS: Duration = Duration::from_millis(1);

    fn unvalidated(limit: usize, counted: Counted, now: Instant) -> UnvalidatedAddress {
        let mut amplification_limit = AmplificationLimit::of(limit);
        assert!(amplification_limit.spend(2 * limit));
        let challenge = AddressChallenge { number: 7, amplification_limit, counted };
        let queue = Arc::new(EpochQueue::first(Tag::of(1), VecDeque::new()));
        UnvalidatedAddress::new(challenge, &queue, &Settings::default(), now)
    }

    #[test]
    fn bytes_are_sent_within_the_limit_until_the_address_is_validated() {
        let count = LiveCount::default();
        let address = unvalidated(100, count.take(), Instant::now());
        assert_eq!(address.left(), Some(100));
        assert!(!address.spend(37, 64) && address.spend(36, 64));
        assert!(address.left() == Some(64) && address.allows(0) && !address.allows(1));
        address.received(1);
        assert!(address.left() == Some(67) && address.allows(3) && !address.allows(4));
        address.received_offer(2, Instant::now());
        assert!(address.left() == Some(73) && address.spend(73, 0) && !address.spend(1, 0));
        assert!(!address.validate(8) && !address.is_validated());
        assert_eq!(count.taken(), 1);
        assert!(address.validate(7) && address.is_validated() && !address.validate(7));
        assert!(address.spend(usize::MAX / 2, 64) && address.allows(1) && address.left().is_none());
        assert_eq!(count.taken(), 0);
    }

    #[test]
    fn the_answer_is_repeated_after_pauses_that_double_once_the_client_takes_itself_for_connected() {
        let (start, count) = (Instant::now(), LiveCount::default());
        let Settings { repeat_after, handshake_timeout, .. } = Settings::default();
        let address = unvalidated(10_000, count.take(), start);
        assert_eq!(address.poll_timeout(), start + handshake_timeout);
        assert!(!address.take_repetition(1, start + repeat_after), "it waits for a sign of the client");
        address.repeat_answer();
        let (mut last, mut pause) = (start, repeat_after);
        for _ in 0..6 {
            assert_eq!(address.poll_timeout(), (last + pause).min(start + handshake_timeout));
            assert!(!address.take_repetition(1, last + pause - MS));
            last += pause;
            assert!(address.take_repetition(1, last));
            pause = (2 * pause).min(MAX_PAUSE);
        }
        address.received_offer(0, last + MS);
        assert_eq!(address.poll_timeout(), (last + MS + pause).min(start + handshake_timeout));
        address.received(0);
        assert_eq!(address.poll_timeout(), (last + MS + repeat_after).min(start + handshake_timeout));
        let left = address.left().unwrap();
        assert!(!address.take_repetition(left + 1, last + MS + repeat_after), "beyond the limit");
        address.validate(7);
        assert!(!address.take_repetition(0, last + 60_000 * MS));
        assert_eq!(address.poll_timeout(), start + handshake_timeout);
    }
}
