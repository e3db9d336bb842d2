//! Sending.
//!
//! A message that was begun to be sent can't be taken back. If its operation is given up, a task goes on with it, and later messages
//! wait for that task, so that their order stays.

use crate::failure::Failure;
use crate::runtime::spawn;
use crate::waiting::Waiting;
use bertha::core::BoxFuture;
use bertha::{Buf, Error};
use bertha_named::AnyConnection;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

/// The sending side of a connection.
pub(crate) struct Sending {
    any: Arc<dyn AnyConnection>,
    handed_over: Arc<HandedOver>,
    numbers: AtomicU64,
}

#[derive(Default)]
struct HandedOver {
    state: Mutex<State>,
    waiting: Waiting,
}

#[derive(Default)]
struct State {
    /// Number of tasks that send.
    tasks: usize,
    /// The error of a task, which the next call tells.
    failed: Option<Failure>,
}

/// Messages on their way.
pub(crate) struct Sent {
    of: Arc<Sending>,
    number: u64,
    progress: Progress,
}

enum Progress {
    /// The operation has begun nothing, for want of room.
    Waiting(Vec<Buf>),
    Sending(BoxFuture<'static, Result<(), Error>>),
    Over,
}

impl Sending {
    pub(crate) fn new(any: Arc<dyn AnyConnection>) -> Arc<Self> {
        Arc::new(Self { any, handed_over: Arc::default(), numbers: AtomicU64::new(0) })
    }

    /// Returns the messages as sent once they are polled.
    pub(crate) fn send(self: &Arc<Self>, messages: Vec<Buf>) -> Sent {
        let number = self.numbers.fetch_add(1, Relaxed);
        Sent { of: self.clone(), number, progress: Progress::Waiting(messages) }
    }

    /// Sends a single message, if there is room now: the quick way, which nothing is allocated for.
    ///
    /// # Errors
    /// Errors of the connection.
    pub(crate) fn send_one(
        self: &Arc<Self>,
        message: Buf,
        context: &mut Context<'_>,
    ) -> Result<Option<Sent>, Failure> {
        let is_unused = {
            let mut state = self.handed_over.state.lock();
            if let Some(failure) = state.failed.take() {
                return Err(failure);
            }
            state.tasks == 0
        };
        let progress = if is_unused {
            let mut sending = self.any.clone().send(message);
            match sending.as_mut().poll(context) {
                Poll::Ready(outcome) => return outcome.map(|()| None).map_err(Failure::from),
                Poll::Pending => Progress::Sending(sending),
            }
        } else {
            Progress::Waiting(vec![message])
        };
        Ok(Some(Sent { of: self.clone(), number: self.numbers.fetch_add(1, Relaxed), progress }))
    }

    fn begin(&self, mut messages: Vec<Buf>) -> BoxFuture<'static, Result<(), Error>> {
        match (messages.pop(), messages.is_empty()) {
            (None, _) => Box::pin(async { Ok(()) }),
            (Some(message), true) => self.any.clone().send(message),
            (Some(last), false) => {
                messages.push(last);
                self.any.clone().send_burst(messages)
            }
        }
    }

    /// Returns a future that is ready when no task sends any more.
    pub(crate) fn all_are_sent(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static {
        let (handed_over, number) = (self.handed_over.clone(), self.numbers.fetch_add(1, Relaxed));
        async move {
            std::future::poll_fn(|context| handed_over.poll_unused(number, context)).await;
        }
    }
}

impl HandedOver {
    fn poll_unused(&self, number: u64, context: &mut Context<'_>) -> Poll<()> {
        self.waiting.enter(number, context.waker());
        if self.state.lock().tasks > 0 {
            return Poll::Pending;
        }
        self.waiting.leave(number);
        Poll::Ready(())
    }

    fn ended(&self, outcome: Result<(), Error>) {
        let mut state = self.state.lock();
        state.tasks -= 1;
        if let Err(error) = outcome {
            state.failed = Some(error.into());
        }
        drop(state);
        self.waiting.wake_all();
    }
}

impl Sent {
    /// # Errors
    /// Errors of the connection, also for a message that was handed over.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if let Progress::Waiting(messages) = &mut self.progress {
            if self.of.handed_over.poll_unused(self.number, context).is_pending() {
                return Poll::Pending;
            }
            if let Some(failure) = self.of.handed_over.state.lock().failed.take() {
                self.progress = Progress::Over;
                return Poll::Ready(Err(failure));
            }
            let messages = std::mem::take(messages);
            self.progress = Progress::Sending(self.of.begin(messages));
        }
        let Progress::Sending(sending) = &mut self.progress else { return Poll::Ready(Ok(())) };
        let outcome = std::task::ready!(sending.as_mut().poll(context));
        self.progress = Progress::Over;
        Poll::Ready(outcome.map_err(Failure::from))
    }

    /// Ends the operation. Returns true if the messages are sent all the same.
    pub(crate) fn give_up(&mut self) -> bool {
        match std::mem::replace(&mut self.progress, Progress::Over) {
            Progress::Sending(sending) => {
                let handed_over = self.of.handed_over.clone();
                handed_over.state.lock().tasks += 1;
                spawn(async move {
                    let outcome = sending.await;
                    handed_over.ended(outcome);
                });
                true
            }
            Progress::Waiting(_) => {
                self.of.handed_over.waiting.leave(self.number);
                false
            }
            Progress::Over => true,
        }
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.give_up();
    }
}
