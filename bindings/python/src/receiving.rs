//! Receiving.
//!
//! A burst is received at a time, of which each operation takes one message: the rest stays in a queue of the connection. The future
//! that receives belongs to all operations that wait. It is there only while one of them waits, since connections that share a
//! socket may wait for its work.

use crate::failure::Failure;
use crate::waiting::Waiting;
use bertha::Buf;
use bertha::core::BoxFuture;
use bertha_named::AnyConnection;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

/// Most messages of a burst.
const AHEAD: usize = 32;

/// The receiving side of a connection.
pub(crate) struct Receiving {
    any: Arc<dyn AnyConnection>,
    arrived: Arc<Arrived>,
    state: Mutex<State>,
    waiting: Arc<Waiting>,
    waker: Waker,
    numbers: AtomicU64,
}

/// Messages that nobody has taken yet.
type Arrived = Mutex<VecDeque<Buf>>;

#[derive(Default)]
struct State {
    under_way: Option<BoxFuture<'static, Result<(), Failure>>>,
    /// The error behind the messages that have arrived.
    failed: Option<Failure>,
}

/// A burst that is being received. Its messages are not lost if the future is dropped.
struct Burst {
    messages: Vec<Buf>,
    to: Arc<Arrived>,
}

impl Drop for Burst {
    fn drop(&mut self) {
        self.to.lock().extend(self.messages.drain(..));
    }
}

impl Receiving {
    pub(crate) fn new(any: Arc<dyn AnyConnection>) -> Self {
        let waiting = Arc::<Waiting>::default();
        let waker = Waker::from(waiting.clone());
        Self {
            any,
            arrived: Arc::default(),
            state: Mutex::default(),
            waiting,
            waker,
            numbers: AtomicU64::new(0),
        }
    }

    /// Returns the number of another operation.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Relaxed)
    }

    /// Looks for messages, and lets `take` take what it wants of those that are there. Without a waker, nothing is woken later.
    ///
    /// # Errors
    /// Errors of the connection.
    pub(crate) fn poll<T>(
        &self,
        number: u64,
        waker: Option<&Waker>,
        take: impl FnOnce(&mut VecDeque<Buf>) -> T,
    ) -> Poll<Result<T, Failure>> {
        let mut state = self.state.lock();
        if let Some(waker) = waker {
            // Entered before the look, so that what arrives behind the look wakes.
            self.waiting.enter(number, waker);
        }
        let outcome = loop {
            let mut arrived = self.arrived.lock();
            if !arrived.is_empty() {
                break Ok(take(&mut arrived));
            }
            drop(arrived);
            if let Some(failure) = state.failed.take() {
                break Err(failure);
            }
            let under_way = state.under_way.get_or_insert_with(|| self.burst());
            let Poll::Ready(outcome) = under_way.as_mut().poll(&mut Context::from_waker(&self.waker)) else {
                return Poll::Pending;
            };
            state.under_way = None;
            state.failed = outcome.err();
        };
        drop(state);
        if waker.is_some() {
            self.waiting.leave(number);
        }
        // There may be more, for others.
        self.waiting.wake_all();
        Poll::Ready(outcome)
    }

    fn burst(&self) -> BoxFuture<'static, Result<(), Failure>> {
        let (any, to) = (self.any.clone(), self.arrived.clone());
        Box::pin(async move {
            let mut burst = Burst { messages: Vec::new(), to };
            let outcome = any.receive_burst(&mut burst.messages, AHEAD).await;
            drop(burst);
            outcome.map(drop).map_err(Failure::from)
        })
    }

    /// Ends the operation of this number, which takes nothing.
    pub(crate) fn give_up(&self, number: u64) {
        if self.waiting.leave(number) {
            // Dropped without a lock: it may leave messages.
            let under_way = take(&mut self.state.lock().under_way);
            drop(under_way);
        } else {
            // What woke this operation may be for another.
            self.waiting.wake_all();
        }
    }
}
