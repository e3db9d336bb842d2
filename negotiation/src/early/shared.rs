//! The state that all calls of a connection before its answer share.

use super::TaskOf;
use super::built::Built;
use super::driver::HandshakeDriver;
use crate::shortage::insist;
use crate::{Agreement, ZeroRtt, span};
use bertha_core::{Base, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tracing::Span;

/// The expected stack, the stack that the server picked in its place, and the outcome of the handshake.
pub(crate) struct EarlyState<C: Connection> {
    /// The connection over the expected stack.
    first: Built<C>,
    /// The connection over another stack, if the server picked another stack. Set before `outcome`.
    second: OnceLock<Arc<Built<C>>>,
    /// The outcome, for all calls.
    outcome: OnceLock<Outcome<C>>,
    kept: Mutex<Kept<C::Data>>,
    /// Notified when `second` or `outcome` is set, or there is room in `kept`.
    changed: Notify,
    pub(super) driver: HandshakeDriver,
}

enum Outcome<C> {
    First,
    Second(Arc<Built<C>>),
    Failed(ErrorKind, String),
}

/// Messages that were sent and may have to be sent again.
struct Kept<T> {
    messages: VecDeque<(u64, T)>,
    next: u64,
    max: usize,
    /// True if no message is added any more.
    is_closed: bool,
    /// The span of connecting, which ends with the outcome.
    span: Span,
}

impl<T> Kept<T> {
    fn has_room(&self) -> bool {
        !self.is_closed && self.messages.len() < self.max
    }
}

impl<C: Connection> EarlyState<C> {
    /// Makes the state before the answer, with the expected stack `first`. At most `max` messages are kept.
    /// `span` is the span of connecting.
    pub(super) fn new(first: Built<C>, max: usize, span: Span) -> Self {
        let kept = Kept { messages: VecDeque::new(), next: 0, max: max.max(1), is_closed: false, span };
        Self {
            first,
            second: OnceLock::new(),
            outcome: OnceLock::new(),
            kept: Mutex::new(kept),
            changed: Notify::new(),
            driver: HandshakeDriver::new(),
        }
    }

    /// Sets the task by which the waiting calls complete the handshake.
    pub(crate) fn drive_by(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.driver.set(Box::pin(task));
    }

    /// Completes the handshake, even if no call waits for it.
    pub(crate) async fn drive(&self) {
        if let Some(task) = self.driver.take() {
            task.await;
        }
    }

    /// Runs the task that keeps the connection alive, from `start` on.
    pub(crate) fn spawn_link_task(
        &self,
        start: Instant,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> TaskOf<C> {
        self.first.connection.base().runtime().spawn_at(start, task)
    }

    /// Sets the agreement of the stack of `first`, which was built before.
    pub(crate) fn agreed_to(&self, agreement: Agreement) {
        let notes = self.first.agreement.get().notes().to_vec();
        self.first.agreement.set(agreement.noting(notes));
    }

    /// Records that the connection goes on over the stack of `first`.
    pub(crate) fn agreed(&self) {
        self.finish(Outcome::First);
    }

    /// Records that there is no agreement.
    pub(crate) fn failed(&self, error: &Error) {
        let left = self.kept().messages.len();
        self.fail_with(error, left);
    }

    /// Records that the handshake was dropped before its end.
    pub(super) fn abandoned(&self) {
        if self.outcome.get().is_none() {
            let what = "the handshake was given up: a Chunnel panicked, or the runtime has ended";
            self.failed(&failure(ErrorKind::Closed, what));
        }
    }

    fn fail_with(&self, error: &Error, left: usize) {
        let mut what = error.context().to_owned();
        if left > 0 {
            what.push_str(&format!(
                "; sent before the server agreed, and not known to be accepted: {left} messages"
            ));
        }
        self.finish(Outcome::Failed(error.kind(), what));
    }

    fn finish(&self, outcome: Outcome<C>) {
        // The first outcome stays.
        let _ = self.outcome.set(outcome);
        let mut kept = self.kept();
        kept.is_closed = true;
        kept.messages = VecDeque::new();
        let span = std::mem::replace(&mut kept.span, Span::none());
        drop(kept);
        self.changed.notify_waiters();
        match self.current() {
            Some(Err(error)) => span::ended(&span, Err(&error)),
            _ => span::ended(&span, Ok(self.agreement())),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept<C::Data>> {
        self.kept.lock()
    }

    /// Returns the connection to use, once the outcome is known.
    #[inline]
    pub(super) fn current(&self) -> Option<Result<&C, Error>> {
        match self.outcome.get()? {
            Outcome::First => Some(Ok(&self.first.connection)),
            Outcome::Second(second) => Some(Ok(&second.connection)),
            Outcome::Failed(kind, what) => Some(Err(failure(*kind, what))),
        }
    }

    /// Waits until the connection to use is known.
    pub(super) async fn wait_settled(&self) -> Result<&C, Error> {
        loop {
            let changed = self.changed.notified();
            if let Some(current) = self.current() {
                return current;
            }
            self.driven(changed).await;
        }
    }

    /// Drives the handshake until `changed` is notified.
    async fn driven(&self, changed: Notified<'_>) {
        let mut changed = pin!(changed);
        poll_fn(|cx| {
            self.driver.drive(cx);
            changed.as_mut().poll(cx)
        })
        .await;
    }

    /// Returns the connection over the expected stack.
    pub(super) fn first(&self) -> &C {
        &self.first.connection
    }

    /// Returns the connection over the last known stack.
    pub(super) fn latest(&self) -> &Built<C> {
        self.second.get().map_or(&self.first, |second| second)
    }

    /// Returns the agreement of the last known stack.
    pub(super) fn agreement(&self) -> Arc<Agreement> {
        self.latest().agreement.get()
    }

    /// Waits until the server has picked another stack, over which `recv` goes on, or the outcome is known.
    async fn receivable(&self) {
        loop {
            let changed = self.changed.notified();
            if self.second.get().is_some() || self.outcome.get().is_some() {
                return;
            }
            self.driven(changed).await;
        }
    }
}

#[cold]
pub(super) fn failure(kind: ErrorKind, what: &str) -> Error {
    Error::new(kind, what.to_owned()).at("negotiation").ending_connection()
}

impl<C: Connection<Data: Clone>> EarlyState<C> {
    /// Sends the messages that were sent over the first stack over `second`, the stack to which the server
    /// has agreed. Each send takes at most `limit`.
    pub(super) async fn replace(&self, second: Built<C>, limit: Duration) {
        let second = Arc::new(second);
        // The messages are in doubt until the last of them is sent.
        let messages = {
            let mut kept = self.kept();
            kept.is_closed = true;
            std::mem::take(&mut kept.messages)
        };
        let count = messages.len();
        let mut left = messages.len();
        second.agreement.set_zero_rtt(ZeroRtt::Resent(count));
        // Receiving begins at once: a stack may have to receive in order to send.
        let _ = self.second.set(second.clone());
        self.changed.notify_waiters();
        let over = &second.connection;
        let runtime = second.connection.base().runtime();
        for (_, message) in messages {
            if let Err(error) = insist(runtime, limit, move || over.send(message.clone())).await {
                return self.fail_with(&error, left);
            }
            left -= 1;
        }
        self.finish(Outcome::Second(second));
    }

    /// Returns true if a message would be kept.
    pub(super) fn has_room(&self) -> bool {
        self.kept().has_room()
    }

    /// Keeps a message, and returns its number. Returns `None` if there is no room, or no messages are kept
    /// any more.
    pub(super) fn keep(&self, message: &C::Data) -> Option<u64> {
        let mut kept = self.kept();
        if !kept.has_room() {
            return None;
        }
        let number = kept.next;
        kept.next += 1;
        kept.messages.push_back((number, message.clone()));
        Some(number)
    }

    #[cold]
    pub(super) async fn send_early(&self, message: C::Data) -> Result<(), Error> {
        let number = loop {
            let changed = self.changed.notified();
            if let Some(number) = self.keep(&message) {
                break number;
            }
            if let Some(current) = self.current() {
                return current?.send(message).await;
            }
            self.driven(changed).await;
        };
        let mut sending = pin!(self.first.connection.send(message));
        let sent = match select(sending.as_mut(), pin!(self.wait_settled())).await {
            Either::Left((sent, _)) => sent,
            // `replace` has sent the message over the second stack.
            Either::Right((_, _)) => match self.outcome.get() {
                Some(Outcome::First) => return sending.await,
                Some(Outcome::Failed(kind, what)) => return Err(failure(*kind, what)),
                _ => return Ok(()),
            },
        };
        self.resolve_sent(number, sent).await
    }

    /// Returns the result of a message, or of a burst, that was sent over the first stack with the result
    /// `sent`. `number` is the last message that was kept; a layer stops at the message that it refuses.
    pub(super) async fn resolve_sent(&self, number: u64, sent: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = sent else { return Ok(()) };
        if !error.ends_connection() {
            let mut kept = self.kept();
            kept.messages.retain(|(other, _)| *other != number);
            drop(kept);
            self.changed.notify_waiters();
            return Err(error);
        }
        // The send may have failed because the server picked another stack, over which the message goes then.
        self.wait_settled().await?;
        match self.outcome.get() {
            Some(Outcome::First) => Err(error),
            _ => Ok(()),
        }
    }

    #[cold]
    pub(super) async fn recv_early(&self) -> Result<C::Data, Error> {
        loop {
            if let Some(current) = self.current() {
                return current?.recv().await;
            }
            // Dropping `recv` loses no message, and the first connection returns only messages of its own
            // stack.
            if let Some(second) = self.second.get() {
                match select(pin!(self.wait_settled()), pin!(second.connection.recv())).await {
                    Either::Left((settled, _)) => settled.map(drop)?,
                    Either::Right((received, _)) => return received,
                }
                continue;
            }
            match select(pin!(self.receivable()), pin!(self.first.connection.recv())).await {
                Either::Left(_) => {}
                Either::Right((Ok(message), _)) => return Ok(message),
                Either::Right((Err(error), _)) => {
                    // The first link also fails if the server picked another stack; only the outcome tells
                    // the two apart.
                    self.receivable().await;
                    if matches!(self.outcome.get(), Some(Outcome::First)) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Waits for a burst over the first stack, in the manner in which `send_early` waits for a message.
    pub(super) async fn over_first(
        &self,
        sending: impl Future<Output = Result<(), Error>>,
    ) -> Result<(), Error> {
        let mut sending = pin!(sending);
        match select(sending.as_mut(), pin!(self.wait_settled())).await {
            Either::Left((sent, _)) => sent,
            Either::Right((settled, _)) => match self.outcome.get() {
                Some(Outcome::First) => sending.await,
                _ => settled.map(drop),
            },
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests;
