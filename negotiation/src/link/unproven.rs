//! A server's link to an address that may not be its client's.
//!
//! The client was let in on its word, and has yet to send back the number in its answer, which it can only know if it receives at the
//! address that it names. Until then every byte for that address, the application's included, is charged to its credit
//! (RFC 9000 section 8.1). A `send` that the credit does not cover waits, and reads meanwhile, since no reception may wait.

use super::connection::{Parked, strip};
use super::{Agreed, End, EpochQueue, Link, Shared};
use crate::Settings;
use crate::handshake::{CLOSE_ALLOWANCE, Credit};
use crate::link::Counted;
use crate::wire::{self, HEADER, Kind, TEXT_LIMIT, Tag};
use bertha_core::{Base, Buf, Connection, Error, Runtime};
use futures_util::future::{Either, FutureExt, select};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest pause between two repetitions of the answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The minimum length of the text about a failure, in bytes.
const SHORTEST_REASON: usize = 16;

/// An address that has yet to be proven.
pub(super) struct Unproven {
    /// The number that proves it.
    number: u64,
    /// The link ends then if nothing came.
    deadline: Instant,
    /// Nothing once it is proven.
    account: Mutex<Option<Account>>,
    /// The application's messages that are read before it asks for them.
    queue: Arc<EpochQueue>,
    shortest_pause: Duration,
}

struct Account {
    credit: Credit,
    /// When the answer was sent, and the pause until it is due again.
    last: Instant,
    pause: Duration,
    /// Whether it is repeated: the client takes itself for connected, or this end has more to say than it may.
    is_wanted: bool,
    _counted: Counted,
}

/// The most messages that are read while the application reads none.
const LOOK: usize = 16;

impl Unproven {
    pub(super) fn new(
        (counted, credit, number): (Counted, Credit, u64),
        queue: &Arc<EpochQueue>,
        settings: &Settings,
        now: Instant,
    ) -> Self {
        let (deadline, pause) = (now + settings.handshake_timeout, settings.repeat_after);
        let account = Account { credit, last: now, pause, is_wanted: false, _counted: counted };
        let account = Mutex::new(Some(account));
        Self { number, deadline, account, queue: queue.clone(), shortest_pause: pause }
    }

    fn account(&self) -> MutexGuard<'_, Option<Account>> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a message of `len` bytes that arrived from the address: with `is_connected` one of a client that takes itself for
    /// connected, else a repeated offer, which is answered at once.
    fn receive(&self, len: usize, is_connected: bool, now: Instant) {
        if let Some(account) = &mut *self.account() {
            account.credit.receive(len);
            match is_connected {
                true => (account.is_wanted, account.pause) = (true, self.shortest_pause),
                false => account.last = now,
            }
        }
    }

    /// This end has more to say than it may.
    fn want(&self) {
        if let Some(account) = &mut *self.account() {
            account.is_wanted = true;
        }
    }

    /// Whether `len` bytes may be sent and leave `rest` for later; then they count as sent.
    fn spend(&self, len: usize, rest: usize) -> bool {
        self.account()
            .as_mut()
            .is_none_or(|account| account.credit.left() >= len + rest && account.credit.spend(len))
    }

    /// Whether `len` bytes of the application may be sent.
    fn covers(&self, len: usize) -> bool {
        self.account().as_ref().is_none_or(|account| account.credit.left() >= len + CLOSE_ALLOWANCE)
    }

    /// Proves the address, if it was not proven and this is the number.
    fn prove(&self, number: u64) -> bool {
        number == self.number && self.account().take().is_some()
    }

    pub(super) fn is_proven(&self) -> bool {
        self.account().is_none()
    }

    /// When to look again whether the answer is due, or the time is over.
    fn poll_timeout(&self) -> Instant {
        let account = self.account();
        let next = account.as_ref().filter(|it| it.is_wanted).map(|it| it.last + it.pause);
        next.map_or(self.deadline, |next| next.min(self.deadline))
    }

    /// Whether an answer of `len` bytes is due, which then counts as sent.
    fn repeats(&self, len: usize, now: Instant) -> bool {
        let mut account = self.account();
        let is_due = |account: &&mut Account| account.is_wanted && now >= account.last + account.pause;
        let Some(account) = account.as_mut().filter(is_due) else { return false };
        (account.last, account.pause) = (now, (account.pause * 2).min(LONGEST_PAUSE));
        account.credit.spend(len)
    }
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// Receives on a link whose peer has yet to prove its address. Nothing if that is no message of this epoch.
    pub(super) async fn receive_unproven(&self) -> Result<Option<Buf>, Error> {
        let shared = &*self.shared;
        let has_news = || {
            let state = self.queue.state();
            self.queue.is_queued() || EpochQueue::is_aside(state) || EpochQueue::is_parted(state)
        };
        let Some(mut message) = shared.read_unproven(&self.queue, || !has_news()).await? else {
            return Ok(None);
        };
        if strip(&mut message, self.queue.header) {
            return Ok(Some(message));
        }
        shared.deal_with(Some(&self.queue), [message]).await;
        Ok(None)
    }
}

impl<C: Connection<Data = Buf>> Shared<C> {
    /// Sends data with its header as soon as the credit of the address covers it, or the address is proven.
    ///
    /// # Errors
    /// If the link ends meanwhile, or the client does not confirm in time. Those of the base.
    pub(super) async fn send_within_credit(&self, data: Buf, queue: &Arc<EpochQueue>) -> Result<(), Error> {
        // The base says that it is too large.
        let is_sendable = data.len() <= self.base.mtu();
        if let Some(unproven) = self.unproven.as_ref().filter(|_| is_sendable) {
            while !unproven.spend(data.len(), CLOSE_ALLOWANCE) {
                unproven.want();
                let read = self.read_unproven(queue, || !unproven.covers(data.len())).await?;
                if let Some(message) = read {
                    self.deal_with(Some(queue), [message]).await;
                }
            }
        }
        self.liveness.check()?;
        self.base.send(data).await
    }

    /// The next message on a link whose peer has yet to prove its address. Nothing if `waits` no longer holds, the address is
    /// proven, or there is news in the queue. Repeats the answer when it is due. Cancellation-safe.
    async fn read_unproven(
        &self,
        queue: &EpochQueue,
        waits: impl Fn() -> bool + Unpin,
    ) -> Result<Option<Buf>, Error> {
        let Some(unproven) = &self.unproven else { return Ok(None) };
        let (runtime, state) = (self.base.base().runtime(), queue.state());
        loop {
            self.liveness.check()?;
            if !self.liveness.is_unproven() || !waits() {
                return Ok(None);
            }
            let timer = pin!(runtime.sleep_until(unproven.poll_timeout()));
            let reception = pin!(self.base.recv());
            let waits = || self.liveness.is_unproven() && waits();
            let reception = Parked::while_waiting(&self.liveness, queue, state, reception, waits);
            match select(pin!(reception), timer).await {
                Either::Left((received, _)) => {
                    let Some(message) = received? else { return Ok(None) };
                    self.liveness.arrived();
                    self.credit_for(&message);
                    return Ok(Some(message));
                }
                Either::Right(_) => self.late(unproven).await,
            }
        }
    }

    /// Reads some messages that are there already, so that the client need not wait to be believed until the application asks for
    /// its messages.
    pub(super) async fn look_for_confirmation(&self) {
        let Some(unproven) = &self.unproven else { return };
        for _ in 0..LOOK {
            if !self.liveness.is_unproven() || unproven.queue.is_full() {
                return;
            }
            let Some(Ok(message)) = pin!(self.base.recv()).now_or_never() else { return };
            self.liveness.arrived();
            self.credit_for(&message);
            self.deal_with(Some(&unproven.queue), [message]).await;
        }
    }

    /// Repeats the answer, or gives the client up.
    async fn late(&self, unproven: &Unproven) {
        let now = self.base.base().runtime().now();
        if now >= unproven.deadline && !unproven.is_proven() {
            self.liveness.end(End::Unproven);
        } else if let Some(Agreed::Server { answer, .. }) = self.agreed.get()
            && unproven.repeats(answer.len(), now)
        {
            self.transmit_bytes(answer).await;
        }
    }

    /// Counts a message of this connection that arrived. Offers are counted where they are dealt with.
    pub(super) fn credit_for(&self, message: &[u8]) {
        let Some(unproven) = &self.unproven else { return };
        if let Some((Kind::Data | Kind::KeepAlive | Kind::Close | Kind::Upgrade, tag)) = wire::header(message)
            && tag == Tag::of(self.id)
        {
            self.credit(unproven, message.len(), true);
        }
    }

    /// Counts a repetition of the offer.
    pub(super) fn credit_for_offer(&self, offer: &[u8]) {
        if let Some(unproven) = &self.unproven {
            self.credit(unproven, offer.len(), false);
        }
    }

    fn credit(&self, unproven: &Unproven, len: usize, is_connected: bool) {
        unproven.receive(len, is_connected, self.base.base().runtime().now());
        if self.liveness.is_unproven() {
            // A `send` may wait for it.
            self.liveness.wake();
        }
    }

    /// Takes the client's confirmation, by which its address is proven. Whether it was one.
    pub(super) fn is_confirmed_by(&self, message: &[u8]) -> bool {
        let Some(unproven) = &self.unproven else { return false };
        let number = self.session().decode_confirm(message).ok().filter(|confirm| confirm.id == self.id);
        if number.is_none_or(|confirm| confirm.number != unproven.number) {
            return false;
        }
        if unproven.prove(unproven.number) {
            self.liveness.proven();
        }
        true
    }

    /// Whether `len` bytes that are no data may be sent; then they count as sent.
    pub(super) fn may_send(&self, len: usize) -> bool {
        self.unproven.as_ref().is_none_or(|unproven| unproven.spend(len, 0))
    }

    /// The first answer has left.
    pub(super) fn has_answered(&self) {
        let is_proven = || self.unproven.as_ref().is_none_or(Unproven::is_proven);
        self.liveness.answered(is_proven());
        if self.liveness.is_unproven() && is_proven() {
            self.liveness.proven();
        }
    }

    /// The longest text about a failure that may be sent, in bytes.
    pub(super) fn longest_reason(&self) -> usize {
        let left =
            self.unproven.as_ref().and_then(|unproven| Some(unproven.account().as_ref()?.credit.left()));
        left.map_or(TEXT_LIMIT, |left| {
            TEXT_LIMIT.min(left.saturating_sub(CLOSE_ALLOWANCE)).max(SHORTEST_REASON)
        })
    }
}

const _: () = assert!(HEADER + 1 + 10 + 1 + SHORTEST_REASON + 4 <= CLOSE_ALLOWANCE, "a close fits");
