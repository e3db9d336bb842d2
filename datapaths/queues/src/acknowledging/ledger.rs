//! The state that the buffers of received messages share with the task that acknowledges them.

use super::gathering::{AckDelay, Call, Gathering, Place};
use crate::{QueueSettings, QueueStatistics};
use bertha_core::Runtime;
use bertha_core::backoff::Backoff;
use bertha_core::buf::Fate;
use bertha_runtime::tokio::TokioRuntime;
use parking_lot::Mutex;
use std::time::Instant;
use tokio::sync::Notify;

/// The receipts of a connection's messages. The lock is held for moments, never across an await.
pub(crate) struct Ledger<R> {
    state: Mutex<LedgerState<R>>,
    /// Notifies the task that there may be a call to make.
    released: Notify,
    /// Notifies waiting futures that calls were made, and of the end.
    settled: Notify,
}

struct LedgerState<R> {
    gathering: Gathering<R>,
    /// True if the task makes a call.
    is_calling: bool,
    /// True if no more messages are received, and the task makes the last calls.
    is_ending: bool,
    /// True if the task has ended.
    has_ended: bool,
}

/// The next step of the task.
pub(super) enum Step<R> {
    Make(Call<R>),
    /// The task has nothing to do before that time, if there is one.
    Wait(Option<Instant>),
    End,
}

impl<R: Send + Sync + 'static> Ledger<R> {
    /// Creates an empty ledger. At most `batch` receipts go into a call.
    pub(crate) fn new(batch: usize, settings: &QueueSettings) -> Self {
        let pauses = Backoff::new(settings.give_back_pause, settings.max_give_back_pause);
        let gathering = Gathering::new(batch, pauses);
        let state = LedgerState { gathering, is_calling: false, is_ending: false, has_ended: false };
        Self { state: Mutex::new(state), released: Notify::new(), settled: Notify::new() }
    }

    /// Adds a received burst, and returns the places of its messages.
    pub(super) fn receive(
        &self,
        receipts: Vec<R>,
        ack_delay: AckDelay,
    ) -> impl Iterator<Item = Place> + use<R> {
        self.state.lock().gathering.receive(receipts, ack_delay)
    }

    /// Records that the application got the next messages, in the order in which they were received.
    pub(crate) fn hand_out(&self, messages: usize) {
        self.state.lock().gathering.hand_out(messages);
    }

    /// Adds the numbers of messages that are not settled.
    pub(crate) fn observe(&self, into: &mut QueueStatistics) {
        self.state.lock().gathering.observe(into);
    }

    /// Sends acknowledgements that wait for others at once. Returns once the service has accepted them, or
    /// the task has ended.
    pub(crate) async fn flush(&self) {
        self.state.lock().gathering.flush(TokioRuntime.now());
        self.released.notify_one();
        self.wait(|state| state.has_ended || (state.gathering.has_nothing_to_send() && !state.is_calling))
            .await;
    }

    /// Begins to acknowledge the messages that are done, and to give all other messages back.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.is_ending = true;
        state.gathering.end(TokioRuntime.now());
        drop(state);
        self.released.notify_one();
    }

    /// Waits until the task has ended.
    pub(crate) async fn ended(&self) {
        self.wait(|state| state.has_ended).await;
    }

    /// Returns true if everything has been settled.
    pub(crate) fn is_settled(&self) -> bool {
        let state = self.state.lock();
        state.gathering.has_nothing_to_send() && !state.is_calling
    }

    /// Waits until [`end`](Self::end) was called.
    pub(super) async fn ending(&self) {
        self.wait(|state| state.is_ending).await;
    }

    async fn wait(&self, until: impl Fn(&LedgerState<R>) -> bool) {
        loop {
            // The future is created before the check, so that no notification is missed.
            let settled = self.settled.notified();
            if until(&self.state.lock()) {
                return;
            }
            settled.await;
        }
    }

    pub(super) async fn released(&self) {
        self.released.notified().await;
    }

    pub(super) fn next(&self) -> Step<R> {
        let mut state = self.state.lock();
        let step = match state.gathering.next(TokioRuntime.now()) {
            Some(call) => Step::Make(call),
            None if state.is_ending => Step::End,
            None => Step::Wait(state.gathering.due()),
        };
        state.is_calling = matches!(step, Step::Make(_));
        drop(state);
        self.settled.notify_waiters();
        step
    }

    pub(super) fn has_ended(&self) {
        self.state.lock().has_ended = true;
        self.settled.notify_waiters();
    }
}

impl<R> Ledger<R> {
    pub(super) fn release(&self, place: Place, fate: Fate) {
        if self.state.lock().gathering.release(place, fate, TokioRuntime.now()) {
            self.released.notify_one();
        }
    }
}
