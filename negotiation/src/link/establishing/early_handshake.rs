//! The handshake of a link on which the stack is built before the server has answered.
//!
//! Calls put their messages into the first flight, which leaves with the offer, and wait here for the answer.
//! [`EarlyLink`](super::EarlyLink) runs the handshake beside the calls.

use crate::handshake::FirstFlight;
use crate::link::{End, LinkShared, LinkState};
use crate::wire::COOKIE;
use bertha_core::{Base, Buf, Connection, Error, Runtime};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// The state of a link until the server has answered.
pub(in crate::link) struct EarlyHandshake {
    flight: Mutex<FirstFlight>,
    /// False until the background task starts; until then messages leave only because of a call.
    has_timers: AtomicBool,
    /// Notified once the link is up or has ended.
    settled: Notify,
}

impl EarlyHandshake {
    pub(super) fn new(flight: FirstFlight) -> Self {
        Self { flight: Mutex::new(flight), has_timers: AtomicBool::new(false), settled: Notify::new() }
    }

    pub(super) fn has_timers(&self) -> bool {
        self.has_timers.load(Ordering::Relaxed)
    }

    /// Starts the timers of the handshake.
    pub(super) fn start_timers(&self) {
        self.has_timers.store(true, Ordering::Relaxed);
    }

    /// Wakes the calls that wait until the link is usable or has ended.
    pub(super) fn wake_settled(&self) {
        self.settled.notify_waiters();
    }

    pub(super) fn flight(&self) -> MutexGuard<'_, FirstFlight> {
        self.flight.lock()
    }
}

impl<C: Connection<Data = Buf>> LinkShared<C> {
    /// Returns the handshake of a link that awaits its answer; `None` if the link is usable.
    ///
    /// # Errors
    /// The reason why the link has ended.
    fn awaited_handshake(&self) -> Result<Option<&EarlyHandshake>, Error> {
        let handshake = self.early_handshake.as_deref();
        match handshake.filter(|_| self.lifecycle.is(LinkState::AwaitingAnswer)) {
            None => self.lifecycle.check().map(|()| None),
            handshake => Ok(handshake),
        }
    }

    /// Sends the offer at once, and waits until the link is usable.
    ///
    /// # Errors
    /// The reason why the link has ended.
    #[cold]
    pub(super) async fn wait_for_answer(&self) -> Result<(), Error> {
        let Some(handshake) = self.awaited_handshake()? else { return Ok(()) };
        let is_due = handshake.flight().hurry();
        if is_due {
            self.transmit_flight(handshake).await;
        }
        self.wait_until_settled(handshake).await
    }

    /// Waits until the link is usable, or has ended.
    async fn wait_until_settled(&self, handshake: &EarlyHandshake) -> Result<(), Error> {
        loop {
            // `settled` is made before the state is read, so no wake-up is missed.
            let settled = handshake.settled.notified();
            if !self.lifecycle.is(LinkState::AwaitingAnswer) {
                return self.lifecycle.check();
            }
            settled.await;
        }
    }

    /// Returns the first flight once more: the offer and the messages that the server has taken. With a
    /// cookie, the offer carries it.
    pub(in crate::link) fn repeat_flight(&self, cookie: Option<&[u8; COOKIE]>) -> Option<Vec<u8>> {
        self.early_handshake.as_ref()?.flight().again(cookie)
    }

    /// Closes a link that awaits its answer. Returns true if the link was in that state. The base is not
    /// closed: the handshake still reads it, may build another stack on it, and sends the close if the server
    /// agrees.
    pub(in crate::link) fn close_before_answer(&self) -> bool {
        let is_closed = self.lifecycle.end_before_answer(End::Closed);
        if let Some(handshake) = self.early_handshake.as_deref().filter(|_| is_closed) {
            handshake.wake_settled();
        }
        is_closed
    }

    /// Sends a message with the offer. If there is no room in the first flight, waits until the link is
    /// usable, and returns the message.
    #[cold]
    pub(super) async fn send_with_offer(&self, message: Buf) -> Result<Option<Buf>, Error> {
        let mut messages = [message].into_iter();
        let left = self.send_batch_with_offer(&mut messages).await?;
        Ok(left.or_else(|| messages.next()))
    }

    /// Sends as many of `messages` with the offer as fit. If there are more, waits until the link is usable,
    /// and returns the next message. Takes no message if the link is usable already.
    #[cold]
    pub(super) async fn send_batch_with_offer(
        &self,
        messages: &mut (impl Iterator<Item = Buf> + Send),
    ) -> Result<Option<Buf>, Error> {
        let Some(handshake) = self.awaited_handshake()? else { return Ok(None) };
        // Pushed messages were copied; the first refused message is returned.
        let left = messages.find(|message| !handshake.flight().push(message));
        self.transmit_flight(handshake).await;
        if left.is_some() {
            self.wait_until_settled(handshake).await?;
        }
        Ok(left)
    }

    /// Sends the message that is due. A failure is not reported: the message is repeated, and a receiving
    /// call meets the failure too.
    async fn transmit_flight(&self, handshake: &EarlyHandshake) {
        let now = self.base.base().runtime().now();
        let due = handshake.flight().poll_transmit(now);
        if let Ok(Some(message)) = due
            && let Ok(message) = Buf::copy_of(&message, 0)
        {
            let _ = self.base.send(message).await;
        }
    }
}
