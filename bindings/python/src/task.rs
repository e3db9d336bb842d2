//! Work that goes on in a task of the process.
//!
//! One operation gets the outcome. Any number may wait for the end of work without a result: those behind the first get no error.

use crate::failure::Failure;
use crate::runtime;
use crate::waiting::Waiting;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Poll, Waker};
use tokio::task::AbortHandle;

/// Work that goes on in a task of the process, and its outcome.
pub(crate) struct Task<T> {
    shared: Arc<Shared<T>>,
    task: AbortHandle,
    ends_with_operation: bool,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    waiting: Waiting,
    numbers: AtomicU64,
}

enum State<T> {
    Running,
    Done(Result<T, Failure>),
    Taken,
}

impl<T: Send + 'static> Task<T> {
    /// Begins the work, which goes on if its operation is given up.
    ///
    /// # Errors
    /// Errors of the runtime.
    pub(crate) fn begin(
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<Self, Failure> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::Running),
            waiting: Waiting::default(),
            numbers: AtomicU64::new(1),
        });
        let told = shared.clone();
        let task = runtime::handle()?.spawn(async move {
            let outcome = work.await;
            *told.state.lock() = State::Done(outcome);
            told.waiting.wake_all();
        });
        Ok(Self { shared, task: task.abort_handle(), ends_with_operation: false })
    }

    /// Ends the work if its operation is given up.
    pub(crate) fn ends_with_operation(mut self) -> Self {
        self.ends_with_operation = true;
        self
    }

    /// # Errors
    /// Errors of the work.
    pub(crate) fn poll(&self, waker: Option<&Waker>) -> Poll<Result<T, Failure>> {
        match self.shared.poll(0, waker) {
            State::Done(outcome) => Poll::Ready(outcome),
            State::Running | State::Taken => Poll::Pending,
        }
    }
}

impl Task<()> {
    /// Returns the end of the work, for another operation that waits for it.
    pub(crate) fn end(&self) -> End {
        End { of: self.shared.clone(), number: self.shared.numbers.fetch_add(1, Relaxed) }
    }
}

/// The end of work without a result.
pub(crate) struct End {
    of: Arc<Shared<()>>,
    number: u64,
}

impl End {
    /// # Errors
    /// Errors of the work, once.
    pub(crate) fn poll(&self, waker: Option<&Waker>) -> Poll<Result<(), Failure>> {
        match self.of.poll(self.number, waker) {
            State::Done(outcome) => Poll::Ready(outcome),
            State::Taken => Poll::Ready(Ok(())),
            State::Running => Poll::Pending,
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.of.waiting.leave(self.number);
    }
}

impl<T> Shared<T> {
    /// Takes the outcome, if it is there.
    fn poll(&self, number: u64, waker: Option<&Waker>) -> State<T> {
        if let Some(waker) = waker {
            self.waiting.enter(number, waker);
        }
        let mut state = self.state.lock();
        match *state {
            State::Running => State::Running,
            State::Done(_) | State::Taken => std::mem::replace(&mut *state, State::Taken),
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if self.ends_with_operation {
            self.task.abort();
        }
    }
}
