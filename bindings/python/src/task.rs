//! Work that goes on in a task of the process.

use crate::failure::Failure;
use crate::runtime;
use crate::waiting::Waiting;
use parking_lot::Mutex;
use std::sync::Arc;
use std::task::{Poll, Waker};
use tokio::task::AbortHandle;

/// Work that goes on in a task of the process, and its outcome, which one operation takes.
pub(crate) struct Task<T> {
    shared: Arc<Shared<T>>,
    task: AbortHandle,
    ends_with_operation: bool,
}

struct Shared<T> {
    outcome: Mutex<Option<Result<T, Failure>>>,
    waiting: Waiting,
}

impl<T: Send + 'static> Task<T> {
    /// Begins the work, which goes on if its operation is given up.
    ///
    /// # Errors
    /// Errors of the runtime.
    pub(crate) fn begin(
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<Self, Failure> {
        let shared = Arc::new(Shared { outcome: Mutex::new(None), waiting: Waiting::default() });
        let told = shared.clone();
        let task = runtime::handle()?.spawn(async move {
            let outcome = work.await;
            *told.outcome.lock() = Some(outcome);
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
        if let Some(waker) = waker {
            self.shared.waiting.enter(0, waker);
        }
        match self.shared.outcome.lock().take() {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
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
