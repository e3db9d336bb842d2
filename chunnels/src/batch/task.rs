//! The task of a connection, which sends batches when they are due.

use super::filling::Filling;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::select;
use parking_lot::Mutex;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The state that the task shares with the connection. The lock is held for one message at a time, never across an await.
pub(super) struct Shared<Inner> {
    pub(super) inner: Inner,
    pub(super) state: Mutex<State>,
    start: Instant,
    /// Notified when there may be a batch to send.
    pub(super) to_send: Notify,
    /// Notified when a batch was sent, or the connection has ended.
    pub(super) sent: Notify,
}

pub(super) struct State {
    pub(super) filling: Filling,
    pub(super) is_closed: bool,
    /// The error that ended the connection.
    pub(super) failure: Option<(ErrorKind, String)>,
    /// Whether the connection below is sending a batch.
    pub(super) is_sending: bool,
    /// The number of batches that the connection below refused.
    pub(super) lost: u64,
}

impl<Inner: Connection<Data = Buf>> Shared<Inner> {
    pub(super) fn new(inner: Inner, filling: Filling) -> Self {
        let start = inner.base().runtime().now();
        let state = State { filling, is_closed: false, failure: None, is_sending: false, lost: 0 };
        Self { inner, state: Mutex::new(state), start, to_send: Notify::new(), sent: Notify::new() }
    }

    pub(super) fn now(&self) -> Duration {
        self.inner.base().runtime().now().saturating_duration_since(self.start)
    }

    /// Ends the connection, unless it has failed already.
    pub(super) fn fail(&self, error: &Error) {
        let mut state = self.state.lock();
        state.is_sending = false;
        state.failure.get_or_insert_with(|| (error.kind(), error.context().to_owned()));
        drop(state);
        self.notify_sent();
    }

    fn notify_sent(&self) {
        self.sent.notify_waiters();
        self.sent.notify_one();
    }

    fn next_batch(&self) -> Option<Buf> {
        let now = self.now();
        let mut state = self.state.lock();
        let batch = state.filling.pop(now);
        state.is_sending = batch.is_some();
        batch
    }
}

/// Sends batches as they become due until the connection below ends.
pub(super) async fn run<Inner: Connection<Data = Buf>>(shared: std::sync::Arc<Shared<Inner>>) {
    let runtime = shared.inner.base().runtime();
    loop {
        let sent = shared.inner.send_batch(std::iter::from_fn(|| shared.next_batch())).await;
        let due = {
            let mut state = shared.state.lock();
            state.is_sending = false;
            if let Err(error) = &sent {
                on_error(&mut state, error);
            }
            if state.failure.is_some() { None } else { Some(state.filling.due()) }
        };
        shared.notify_sent();
        let Some(due) = due else { return };
        let notified = pin!(shared.to_send.notified());
        match due {
            None => notified.await,
            Some(due) => {
                let alarm = pin!(runtime.sleep_until(shared.start + due));
                select(alarm, notified).await;
            }
        }
    }
}

fn on_error(state: &mut State, error: &Error) {
    if error.kind().may_pass() {
        state.lost += 1;
        tracing::debug!(%error, "a batch was not sent");
    } else {
        state.failure = Some((error.kind(), error.context().to_owned()));
    }
}
