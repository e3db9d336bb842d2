//! Sending, with and without waiting.
//!
//! A message that was begun to be sent can't be taken back. So a call whose time is up hands its message over to a task, and has
//! done its work. While such a task is at work, the next call waits first, and fails if its time is up: then its message
//! was not touched.

use crate::failure::Failure;
use crate::readiness::{Bit, Readiness};
use crate::wait::{Limit, poll_once, spawn, wait};
use bertha::core::BoxFuture;
use bertha::{Buf, Error};
use bertha_named::AnyConnection;
use parking_lot::Mutex;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The sending side of a connection, with the messages that calls have handed over.
pub(crate) struct Sending {
    any: Arc<dyn AnyConnection>,
    released: CancellationToken,
    readiness: Arc<Readiness>,
    handed_over: Arc<HandedOver>,
}

#[derive(Debug, Default)]
struct HandedOver {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Number of tasks that send.
    tasks: usize,
    /// The error of a task, which the next call tells.
    failed: Option<Failure>,
}

impl HandedOver {
    async fn until_unused(&self) {
        loop {
            let changed = self.changed.notified();
            if self.state.lock().tasks == 0 {
                return;
            }
            changed.await;
        }
    }

    fn ended(&self, outcome: Result<(), Error>, readiness: &Readiness) {
        let mut state = self.state.lock();
        state.tasks -= 1;
        if let Err(error) = outcome {
            state.failed = Some(error.into());
        }
        let is_unused = state.tasks == 0;
        drop(state);
        if is_unused {
            readiness.set(Bit::Send);
            self.changed.notify_waiters();
        }
    }
}

impl Sending {
    pub(crate) fn new(
        any: Arc<dyn AnyConnection>,
        released: CancellationToken,
        readiness: Arc<Readiness>,
    ) -> Self {
        Self { any, released, readiness, handed_over: Arc::default() }
    }

    /// Returns a future that is ready when no task sends any more.
    pub(crate) fn all_are_sent(&self) -> impl Future<Output = ()> + Send + use<> {
        let handed_over = self.handed_over.clone();
        async move { handed_over.until_unused().await }
    }

    /// Sends a message, whose length was checked.
    ///
    /// # Errors
    /// Errors of the connection, also for the last message; [`Failure::LATE`] if the message was not taken.
    pub(crate) fn send(&self, message: Buf, limit: Limit) -> Result<(), Failure> {
        self.until_room(limit)?;
        self.hand_over(self.any.clone().send(message), limit)
    }

    /// Sends a burst, which `take` gets once there is room. Returns the numbers of its messages and of their bytes.
    ///
    /// # Errors
    /// The errors of [`send`](Self::send) and of `take`.
    pub(crate) fn send_burst(
        &self,
        limit: Limit,
        take: impl FnOnce() -> Result<Vec<Buf>, Failure>,
    ) -> Result<(usize, usize), Failure> {
        self.until_room(limit)?;
        let mut burst = take()?;
        let (messages, bytes) = (burst.len(), burst.iter().map(|message| message.len()).sum());
        let sending = match (burst.pop(), burst.is_empty()) {
            (None, _) => return Ok((0, 0)),
            (Some(message), true) => self.any.clone().send(message),
            (Some(last), false) => {
                burst.push(last);
                self.any.clone().send_burst(burst)
            }
        };
        self.hand_over(sending, limit)?;
        Ok((messages, bytes))
    }

    /// # Errors
    /// [`BERTHA_TOO_LARGE`](crate::code::Code::BERTHA_TOO_LARGE).
    pub(crate) fn check_length(&self, length: usize) -> Result<(), Failure> {
        let longest = self.any.longest();
        if length > longest { Err(Failure::too_long(length, longest)) } else { Ok(()) }
    }

    /// Waits until no task sends.
    fn until_room(&self, limit: Limit) -> Result<(), Failure> {
        let handed_over = &self.handed_over;
        let mut state = handed_over.state.lock();
        if state.tasks > 0 {
            drop(state);
            self.readiness.clear(Bit::Send);
            let waited = wait(limit, &self.released, async {
                handed_over.until_unused().await;
                Ok(())
            });
            if waited.is_err() && handed_over.state.lock().tasks > 0 {
                return waited;
            }
            state = handed_over.state.lock();
        }
        match state.failed.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Sends within the limit, or lets a task go on with it.
    fn hand_over(
        &self,
        mut sending: BoxFuture<'static, Result<(), Error>>,
        limit: Limit,
    ) -> Result<(), Failure> {
        if let Poll::Ready(sent) = poll_once(sending.as_mut())? {
            return Ok(sent?);
        }
        let sent = wait(limit, &self.released, async { (&mut sending).await.map_err(Failure::from) });
        if !sent.as_ref().is_err_and(Failure::is_late) {
            return sent;
        }
        let (handed_over, readiness) = (self.handed_over.clone(), self.readiness.clone());
        handed_over.state.lock().tasks += 1;
        self.readiness.clear(Bit::Send);
        spawn(self.released.clone(), async move {
            let outcome = sending.await;
            handed_over.ended(outcome, &readiness);
        })
    }
}
