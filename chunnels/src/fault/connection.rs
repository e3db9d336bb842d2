//! The connection that injects faults.

use super::rates::Rates;
use super::schedule::Schedule;
use crate::task_end::{self, runtime_ended};
use bertha_core::{Base, Buf, Connection, DropCounter, Error, ErrorKind, Runtime, debug_fields, forward};
use futures_util::future::select;
use parking_lot::Mutex;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The connection of [`Fault`](super::Fault) over a connection that carries bytes.
///
/// `send` is ready at once: a waiting message counts as being on its way. Up to 65,536 messages wait, and
/// further messages are lost. `close` first waits until they are sent; dropping the connection drops them.
/// Received messages pass unchanged.
///
/// # Errors
/// The errors of the connection below. If sending a delayed message fails, the next `send` fails with the
/// same error if it ends the connection; otherwise the error counts as loss.
pub struct FaultConnection<Inner: Connection> {
    shared: Arc<FaultShared<Inner>>,
    /// Ends the task with the connection.
    _task: <<Inner::Base as Base>::Runtime as Runtime>::Task,
}

struct FaultShared<Inner> {
    inner: Inner,
    /// Locked for one message at a time, never across an await.
    state: Mutex<FaultState>,
    start: Instant,
    /// Notified when there may be a message to send.
    to_send: Notify,
    /// Notified when a burst was sent, or the connection has ended.
    sent: Notify,
}

struct FaultState {
    schedule: Schedule,
    is_closed: bool,
    is_sending: bool,
    failure: Option<(ErrorKind, String)>,
}

impl<Inner: Connection<Data = Buf>> FaultConnection<Inner> {
    pub(super) fn new(inner: Inner, seed: u64, rates: Rates, lost: DropCounter) -> Self {
        let start = inner.base().runtime().now();
        let schedule = Schedule::new(seed, rates, lost);
        let state = Mutex::new(FaultState { schedule, is_closed: false, is_sending: false, failure: None });
        let shared =
            Arc::new(FaultShared { inner, state, start, to_send: Notify::new(), sent: Notify::new() });
        let ended = shared.clone();
        let runtime = shared.inner.base().runtime();
        let _task = task_end::spawn(runtime, run(shared.clone()), move || ended.fail(&runtime_ended()));
        Self { shared, _task }
    }

    /// Returns the number of messages that were lost.
    pub fn lost(&self) -> u64 {
        self.shared.state.lock().schedule.lost.get()
    }

    fn push(&self, message: Buf) -> Result<(), Error> {
        let max = self.shared.inner.mtu();
        if message.len() > max {
            let what = format!("message of {} bytes, at most {max} fit", message.len());
            return Err(Error::new(ErrorKind::TooLarge, what).at("Fault"));
        }
        let now = self.shared.now();
        let mut state = self.shared.state.lock();
        if let Some((kind, what)) = &state.failure {
            return Err(Error::new(*kind, what.clone()).at("Fault").ending_connection());
        }
        if state.is_closed {
            return Err(Error::new(ErrorKind::Closed, "this end closed the connection").at("Fault"));
        }
        state.schedule.push(message, now, |message| Buf::copy_of(message, message.headroom()))?;
        self.shared.to_send.notify_one();
        Ok(())
    }
}

impl<Inner: Connection<Data = Buf>> FaultConnection<Inner> {
    /// Returns once every message is sent or the connection has failed.
    async fn flush(&self) {
        loop {
            // The notification is created before the check, so that no notification is missed.
            let changed = self.shared.sent.notified();
            {
                let state = self.shared.state.lock();
                if state.failure.is_some() || (state.schedule.due().is_none() && !state.is_sending) {
                    return;
                }
            }
            changed.await;
        }
    }
}

impl<Inner: Connection<Data = Buf>> FaultShared<Inner> {
    fn now(&self) -> Duration {
        self.inner.base().runtime().now().saturating_duration_since(self.start)
    }

    /// Ends the connection, unless it has failed already.
    fn fail(&self, error: &Error) {
        let mut state = self.state.lock();
        state.is_sending = false;
        state.failure.get_or_insert_with(|| (error.kind(), error.context().to_owned()));
        drop(state);
        self.sent.notify_waiters();
    }

    fn next_due(&self, len: Option<usize>) -> Option<Buf> {
        let now = self.now();
        let mut state = self.state.lock();
        let message = state.schedule.pop(now, len);
        state.is_sending = message.is_some();
        message
    }

    /// Handles the result of a burst. Returns the answer whether the connection has failed, and the time of
    /// the next burst.
    fn on_sent(&self, sent: Result<(), Error>) -> (bool, Option<Duration>) {
        let mut state = self.state.lock();
        state.is_sending = false;
        match sent {
            Err(error) if !error.ends_connection() => {
                state.schedule.lost.add(1);
            }
            Err(error) => state.failure = Some((error.kind(), error.context().to_owned())),
            Ok(()) => {}
        }
        (state.failure.is_some(), state.schedule.due())
    }
}

/// Sends messages as they become due until the connection below ends.
async fn run<Inner: Connection<Data = Buf>>(shared: Arc<FaultShared<Inner>>) {
    let runtime = shared.inner.base().runtime();
    loop {
        // A datapath may reorder messages of different lengths in one burst, and such a fault was not drawn
        // here.
        let mut len = None;
        let burst = std::iter::from_fn(|| shared.next_due(len).inspect(|message| len = Some(message.len())));
        let sent = shared.inner.send_batch(burst).await;
        let (is_over, due) = shared.on_sent(sent);
        shared.sent.notify_waiters();
        if is_over {
            return;
        }
        let notified = pin!(shared.to_send.notified());
        match due {
            None => notified.await,
            Some(due) => {
                select(pin!(runtime.sleep_until(shared.start + due)), notified).await;
            }
        }
    }
}

impl<Inner: Connection<Data = Buf>> Connection for FaultConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.shared.inner => base, mtu, recv, recv_batch);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.push(message)
    }

    async fn drain(&self) -> Result<(), Error> {
        self.flush().await;
        self.shared.inner.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        self.shared.state.lock().is_closed = true;
        self.flush().await;
        self.shared.inner.close().await
    }
}

debug_fields!(FaultConnection<Inner: Connection> {});
