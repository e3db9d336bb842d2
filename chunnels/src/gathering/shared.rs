//! The state that a connection shares with its task.

use bertha_core::statistics::Observed;
use bertha_core::{Base, Connection, Error, ErrorKind, Runtime, Statistics};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The gathering of messages, without I/O.
pub(crate) trait Gather: Send + 'static {
    /// A message for the connection below.
    type Item: Send + 'static;

    /// Returns the next message to send now.
    fn pop(&mut self, now: Duration) -> Option<Self::Item>;

    /// Returns the time at which the next message is sent.
    fn due(&self) -> Option<Duration>;

    /// Makes every message due at once.
    fn flush(&mut self);

    /// Returns true if no message is left to send.
    fn is_empty(&self) -> bool;

    /// Returns true if another message can be taken.
    fn has_capacity(&self) -> bool;

    /// Adds the state, with these counts, to the statistics.
    fn observe(&self, counts: &GatheringCounts, into: &mut Statistics);
}

/// The counts of a connection since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GatheringCounts {
    /// Messages that were given to `send`.
    pub(crate) messages: u64,
    /// Items that were handed down.
    pub(crate) items: u64,
    /// Calls by which items were handed down.
    pub(crate) bursts: u64,
    /// Number of times that the connection below refused an item and went on.
    pub(crate) refusals: u64,
}

/// The connection below, and the messages for it. The lock is held for one message at a time, never across an await.
pub(crate) struct GatheringShared<Inner, G: Gather> {
    /// The connection below. It is the first field, so that it is dropped before messages that were received
    /// from it.
    pub(crate) inner: Inner,
    pub(crate) state: Mutex<GatheringState<G>>,
    /// The name of the Chunnel, for errors.
    name: &'static str,
    start: Instant,
    /// Notified when there may be a message to send.
    pub(super) to_send: Notify,
    /// Notified when messages were sent, or the connection has ended.
    sent: Notify,
}

pub(crate) struct GatheringState<G: Gather> {
    pub(crate) gathered: G,
    is_closed: bool,
    /// The error that ended the connection.
    pub(super) failure: Option<(ErrorKind, String)>,
    /// True if the connection below is sending.
    pub(super) is_sending: bool,
    pub(crate) counts: GatheringCounts,
    /// The last error of a refused item, until it is reported.
    refusal: Option<Error>,
    /// Messages received from the connection below that no `recv` returned. They are kept until that
    /// connection is dropped: a queue would take an earlier drop for an acknowledgement.
    unreceived: VecDeque<G::Item>,
}

impl<G: Gather> GatheringState<G> {
    pub(super) fn on_error(&mut self, error: Error) {
        if !error.ends_connection() {
            self.counts.refusals += 1;
            tracing::debug!(%error, "a message was not sent");
            self.refusal = Some(error);
        } else {
            self.failure = Some((error.kind(), error.context().to_owned()));
        }
    }
}

impl<Inner, G: Gather> GatheringShared<Inner, G> {
    /// Keeps unreceived messages for as long as the connection below lives.
    pub(crate) fn keep(&self, unreceived: VecDeque<G::Item>) {
        self.state.lock().unreceived = unreceived;
    }
}

impl<Inner: Connection, G: Gather<Item = Inner::Data>> GatheringShared<Inner, G> {
    pub(crate) fn new(name: &'static str, inner: Inner, gathered: G) -> Self {
        let start = inner.base().runtime().now();
        let counts = GatheringCounts::default();
        let refusal = None;
        let failure = None;
        let unreceived = VecDeque::new();
        let is_closed = false;
        let is_sending = false;
        let state = GatheringState { gathered, is_closed, failure, is_sending, counts, refusal, unreceived };
        Self { inner, state: Mutex::new(state), name, start, to_send: Notify::new(), sent: Notify::new() }
    }

    fn now(&self) -> Duration {
        self.inner.base().runtime().now().saturating_duration_since(self.start)
    }

    /// Returns a time on the clock of the runtime.
    pub(super) fn at(&self, due: Duration) -> Instant {
        self.start + due
    }

    /// Waits until another message can be taken, and adds it with `push`.
    pub(crate) async fn push(
        &self,
        push: impl FnOnce(&mut G, Duration) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut push = Some(push);
        loop {
            // The notification is created before the check, so that it is not missed.
            let changed = self.sent.notified();
            let now = self.now();
            {
                let mut state = self.state.lock();
                if let Some((kind, what)) = &state.failure {
                    return Err(Error::new(*kind, what.clone()).at(self.name).ending_connection());
                }
                if state.is_closed {
                    return Err(self.closed());
                }
                if state.gathered.has_capacity()
                    && let Some(push) = push.take()
                {
                    let was_empty = state.gathered.is_empty();
                    let pushed = push(&mut state.gathered, now);
                    state.counts.messages += u64::from(pushed.is_ok());
                    if was_empty || state.gathered.due().is_some_and(|due| due <= now) {
                        self.to_send.notify_one();
                    }
                    return pushed;
                }
            }
            changed.await;
        }
    }

    /// Sends every waiting message, and returns once all are sent or the connection has failed.
    pub(crate) async fn flush(&self) {
        self.state.lock().gathered.flush();
        self.to_send.notify_one();
        loop {
            // The notification is created before the check, so that it is not missed.
            let changed = self.sent.notified();
            {
                let state = self.state.lock();
                if state.failure.is_some() || (state.gathered.is_empty() && !state.is_sending) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Makes later messages fail.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.state.lock().is_closed { Err(self.closed()) } else { Ok(()) }
    }

    /// Returns the error of a message that was not sent, if it was not reported yet.
    #[cfg_attr(not(feature = "nagle"), allow(dead_code, reason = "`batch` counts them"))]
    pub(crate) fn refused(&self) -> Result<(), Error> {
        self.state.lock().refusal.take().map_or(Ok(()), Err)
    }

    #[cold]
    fn closed(&self) -> Error {
        Error::new(ErrorKind::Closed, "this end closed the connection").at(self.name)
    }

    /// Ends the connection, unless it has failed already.
    pub(super) fn fail(&self, error: &Error) {
        let mut state = self.state.lock();
        state.is_sending = false;
        state.failure.get_or_insert_with(|| (error.kind(), error.context().to_owned()));
        drop(state);
        self.notify_sent();
    }

    pub(crate) fn notify_sent(&self) {
        self.sent.notify_waiters();
        self.sent.notify_one();
    }

    pub(super) fn next(&self) -> Option<G::Item> {
        let now = self.now();
        let mut state = self.state.lock();
        let message = state.gathered.pop(now);
        // The flag stays until the whole burst is sent: the connection below may ask for further messages
        // before it sends any.
        state.is_sending |= message.is_some();
        state.counts.items += u64::from(message.is_some());
        message
    }
}

impl<Inner: Connection, G: Gather<Item = Inner::Data>> Observed for GatheringShared<Inner, G> {
    fn observe(&self, into: &mut Statistics) {
        let state = self.state.lock();
        state.gathered.observe(&state.counts, into);
    }
}
