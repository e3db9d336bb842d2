//! A connection that can be used before the server has answered.

use crate::Agreement;
use bertha_core::{Base, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;

type TaskOf<C> = <<<C as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// A connection that [`connect_early`](crate::Negotiate::connect_early) made.
///
/// Until the server has answered, `send` puts messages into the first flight and `recv` waits. After that both are those of
/// the stack, for one atomic load.
///
/// * **Loss.** Nothing is lost or delivered twice by negotiation. What is sent before the answer is kept until then, at most
///   [`first_flight`](crate::Settings::first_flight) messages, and sent again in order if the server picks another stack.
/// * **Failure.** A refusal, or no answer within the [handshake
///   time-out](crate::Settings::handshake_timeout), fails `send` and `recv` from then on, with an error that says how many messages are
///   in doubt: a server that can't be heard may have taken them.
/// * **Backpressure.** A message that fits no more waits for the answer.
/// * **Cancellation.** As for every [`Connection`]: a message whose `send` was dropped was not sent, or sent whole, once.
/// * **The end.** [`close`](Connection::close) waits for the answer, and so until the messages have a connection. Dropping
///   gives up what was not answered yet: nothing is repeated any more.
pub struct Early<C: Connection> {
    shared: Arc<Shared<C>>,
    /// Brings the handshake to its end.
    _task: Option<TaskOf<C>>,
}

pub(crate) struct Shared<C: Connection> {
    /// Over the stack that was expected.
    first: C,
    /// Over another one, if that is what the server picked. There before `outcome` is.
    second: OnceLock<Arc<C>>,
    /// What all calls look at.
    outcome: OnceLock<Outcome<C>>,
    agreement: OnceLock<Agreement>,
    dropped: OnceLock<Arc<AtomicU64>>,
    kept: Mutex<Kept<C::Data>>,
    /// Told when `second` or `outcome` is there, or there is room in `kept`.
    changed: Notify,
}

enum Outcome<C> {
    First,
    Second(Arc<C>),
    Failed(ErrorKind, String),
}

/// What was sent and may have to be sent again.
struct Kept<T> {
    messages: VecDeque<(u64, T)>,
    next: u64,
    most: usize,
    /// Whether nothing is added any more.
    is_closed: bool,
}

impl<C: Connection> Shared<C> {
    /// Nothing is known yet of the stack under `first`; at most `most` messages are kept.
    pub(crate) fn new(first: C, most: usize) -> Self {
        let kept = Kept { messages: VecDeque::new(), next: 0, most: most.max(1), is_closed: false };
        Self {
            first,
            second: OnceLock::new(),
            outcome: OnceLock::new(),
            agreement: OnceLock::new(),
            dropped: OnceLock::new(),
            kept: Mutex::new(kept),
            changed: Notify::new(),
        }
    }

    /// Runs what brings the handshake to its end.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> TaskOf<C> {
        self.first.base().runtime().spawn(task)
    }

    /// What was agreed, and what counts the messages that are dropped.
    pub(crate) fn explained(&self, agreement: Agreement, dropped: Arc<AtomicU64>) {
        let _ = (self.agreement.set(agreement), self.dropped.set(dropped));
    }

    /// The server agreed to the stack under `first`.
    pub(crate) fn agreed(&self) {
        self.settle(Outcome::First);
    }

    /// The server agreed to the stack under `second`: sends over that one what was sent over the first.
    pub(crate) async fn replace(
        &self,
        second: C,
        dropped: Arc<AtomicU64>,
        agreement: impl FnOnce(usize) -> Agreement,
    ) {
        let second = Arc::new(second);
        // In doubt until the last is sent.
        let messages = {
            let mut kept = self.kept();
            kept.is_closed = true;
            std::mem::take(&mut kept.messages)
        };
        let (count, mut left) = (messages.len(), messages.len());
        self.explained(agreement(count), dropped);
        // Receiving begins at once: a stack may have to receive in order to send.
        let _ = self.second.set(second.clone());
        self.changed.notify_waiters();
        for (_, message) in messages {
            if let Err(error) = second.send(message).await {
                return self.fail_with(&error, left);
            }
            left -= 1;
        }
        self.settle(Outcome::Second(second));
    }

    /// There is no agreement.
    pub(crate) fn failed(&self, error: &Error) {
        let left = self.kept().messages.len();
        self.fail_with(error, left);
    }

    fn fail_with(&self, error: &Error, left: usize) {
        let mut what = error.context().to_owned();
        if left > 0 {
            what.push_str(&format!(
                "; sent before the server agreed, and not known to be accepted: {left} messages"
            ));
        }
        self.settle(Outcome::Failed(error.kind(), what));
    }

    fn settle(&self, outcome: Outcome<C>) {
        let _ = self.outcome.set(outcome);
        let mut kept = self.kept();
        kept.is_closed = true;
        kept.messages = VecDeque::new();
        drop(kept);
        self.changed.notify_waiters();
    }

    fn kept(&self) -> MutexGuard<'_, Kept<C::Data>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection to use, once that is known.
    #[inline]
    fn current(&self) -> Option<Result<&C, Error>> {
        match self.outcome.get()? {
            Outcome::First => Some(Ok(&self.first)),
            Outcome::Second(second) => Some(Ok(second)),
            Outcome::Failed(kind, what) => Some(Err(failure(*kind, what))),
        }
    }

    async fn settled(&self) -> Result<&C, Error> {
        loop {
            let changed = self.changed.notified();
            if let Some(current) = self.current() {
                return current;
            }
            changed.await;
        }
    }

    /// Waits until there is another stack to receive over than the first, or all is settled.
    async fn receivable(&self) {
        loop {
            let changed = self.changed.notified();
            if self.second.get().is_some() || self.outcome.get().is_some() {
                return;
            }
            changed.await;
        }
    }
}

#[cold]
fn failure(kind: ErrorKind, what: &str) -> Error {
    Error::new(kind, what.to_owned()).at("negotiation")
}

impl<C: Connection<Data: Clone>> Shared<C> {
    /// Keeps a message, and says under which number; nothing if there is no room, or nothing is kept any more.
    fn keep(&self, message: &C::Data) -> Option<u64> {
        let mut kept = self.kept();
        if kept.is_closed || kept.messages.len() >= kept.most {
            return None;
        }
        let number = kept.next;
        kept.next += 1;
        kept.messages.push_back((number, message.clone()));
        Some(number)
    }

    #[cold]
    async fn send_early(&self, message: C::Data) -> Result<(), Error> {
        let number = loop {
            let changed = self.changed.notified();
            if let Some(number) = self.keep(&message) {
                break number;
            }
            if let Some(current) = self.current() {
                return current?.send(message).await;
            }
            changed.await;
        };
        let mut sending = pin!(self.first.send(message));
        let sent = match select(sending.as_mut(), pin!(self.settled())).await {
            Either::Left((sent, _)) => sent,
            // Sent over the second, or lost with it.
            Either::Right((_, _)) => match self.outcome.get() {
                Some(Outcome::First) => return sending.await,
                Some(Outcome::Failed(kind, what)) => return Err(failure(*kind, what)),
                _ => return Ok(()),
            },
        };
        self.sent(number, sent).await
    }

    /// What it means for a message that it was sent so over the first stack.
    async fn sent(&self, number: u64, sent: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = sent else { return Ok(()) };
        if error.kind().is_of_one_message() {
            let mut kept = self.kept();
            kept.messages.retain(|(other, _)| *other != number);
            drop(kept);
            self.changed.notify_waiters();
            return Err(error);
        }
        // It may have failed because the server picked another stack, and then it goes over that one.
        self.settled().await?;
        match self.outcome.get() {
            Some(Outcome::First) => Err(error),
            _ => Ok(()),
        }
    }

    #[cold]
    async fn recv_early(&self) -> Result<C::Data, Error> {
        loop {
            if let Some(current) = self.current() {
                return current?.recv().await;
            }
            if let Some(second) = self.second.get() {
                return second.recv().await;
            }
            // `recv` can be dropped without a loss, and the first connection gives no message that is not for it.
            match select(pin!(self.first.recv()), pin!(self.receivable())).await {
                Either::Left((Ok(message), _)) => return Ok(message),
                Either::Left((Err(error), _)) => {
                    self.receivable().await;
                    if matches!(self.outcome.get(), Some(Outcome::First)) {
                        return Err(error);
                    }
                }
                Either::Right(_) => {}
            }
        }
    }
}

impl<C: Connection> Early<C> {
    pub(crate) fn new(shared: Arc<Shared<C>>, task: Option<TaskOf<C>>) -> Self {
        Self { shared, _task: task }
    }

    /// Which stack is in use, and what became of the first flight; nothing while the server has not answered.
    pub fn explain(&self) -> Option<&Agreement> {
        self.shared.agreement.get()
    }

    /// Waits for the server's answer, and until messages that have to be sent again were.
    ///
    /// # Errors
    /// Those of [`connect`](crate::Negotiate::connect).
    pub async fn agreed(&self) -> Result<&Agreement, Error> {
        self.shared.settled().await?;
        self.shared.agreement.get().ok_or_else(|| failure(ErrorKind::Closed, "there is no agreement"))
    }

    /// As [`Negotiated::dropped`](crate::Negotiated::dropped); zero while the server has not answered.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.get().map_or(0, |dropped| dropped.load(Ordering::Relaxed))
    }

    /// As [`Negotiated::forged`](crate::Negotiated::forged); zero while the server has not answered.
    pub fn forged(&self) -> u64 {
        self.explain().map_or(0, |agreement| agreement.session().forged())
    }
}

impl<C: Connection<Data: Clone>> Connection for Early<C> {
    type Data = C::Data;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.shared.second.get().map_or(&self.shared.first, |second| second).base()
    }

    async fn send(&self, message: C::Data) -> Result<(), Error> {
        match self.shared.current() {
            Some(current) => current?.send(message).await,
            None => self.shared.send_early(message).await,
        }
    }

    async fn recv(&self) -> Result<C::Data, Error> {
        match self.shared.current() {
            Some(current) => current?.recv().await,
            None => self.shared.recv_early().await,
        }
    }

    /// Before the answer as many messages as fit go out with the offer at once.
    async fn send_batch(&self, messages: impl Iterator<Item = C::Data> + Send) -> Result<(), Error> {
        let shared = &*self.shared;
        if let Some(current) = shared.current() {
            return current?.send_batch(messages).await;
        }
        let mut messages = messages.peekable();
        while messages.peek().is_some() {
            if let Some(current) = shared.current() {
                return current?.send_batch(messages).await;
            }
            let mut kept = Vec::new();
            while let Some(message) = messages.next_if(|message| shared.keep(message).is_some()) {
                kept.push(message);
            }
            let sent = async {
                match kept.is_empty() {
                    true => Ok(()),
                    false => shared.first.send_batch(kept.into_iter()).await,
                }
            };
            shared.sent_batch(sent).await?;
            if let Some(message) = messages.next() {
                shared.send_early(message).await?;
            }
        }
        Ok(())
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        match self.shared.current() {
            Some(current) => current?.recv_batch(into, limit).await,
            None if limit == 0 => Ok(0),
            None => {
                into.extend([self.shared.recv_early().await?]);
                Ok(1)
            }
        }
    }

    /// Waits for the answer first.
    async fn close(&self) -> Result<(), Error> {
        self.shared.settled().await?.close().await
    }
}

impl<C: Connection<Data: Clone>> Shared<C> {
    /// Waits for a burst over the first stack, as `send_early` does for one message.
    async fn sent_batch(&self, sending: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
        let mut sending = pin!(sending);
        let sent = match select(sending.as_mut(), pin!(self.settled())).await {
            Either::Left((sent, _)) => sent,
            Either::Right((settled, _)) => match self.outcome.get() {
                Some(Outcome::First) => sending.await,
                _ => settled.map(drop),
            },
        };
        // No message has this number: after an error, what was taken from a burst was sent or is lost.
        self.sent(u64::MAX, sent).await
    }
}

impl<C: Connection> fmt::Debug for Early<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Early").field("agreement", &self.explain()).finish_non_exhaustive()
    }
}
