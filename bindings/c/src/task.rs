//! Work that a call has begun and that goes on without it: the calls that wait for it may come and go.

use crate::failure::Failure;
use crate::readiness::{Bit, Readiness};
use crate::wait::spawn;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Work that goes on in a task of the process, and its outcome, which any number of calls may see.
#[derive(Debug)]
pub(crate) struct Task<T> {
    outcome: Mutex<Option<Result<T, Failure>>>,
    done: Notify,
}

impl<T: Clone + Send + 'static> Task<T> {
    /// Begins the work, which is given up when its object is released. Its end sets a bit of the object's descriptor.
    ///
    /// # Errors
    /// [`BERTHA_EXHAUSTED`](crate::code::Code::BERTHA_EXHAUSTED) if there is no runtime.
    pub(crate) fn begin(
        released: &CancellationToken,
        readiness: &Arc<Readiness>,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<Arc<Self>, Failure> {
        let task = Arc::new(Self { outcome: Mutex::default(), done: Notify::new() });
        let (done, readiness) = (task.clone(), readiness.clone());
        spawn(released.clone(), async move {
            let outcome = work.await;
            *done.outcome.lock() = Some(outcome);
            readiness.set(Bit::Done);
            done.done.notify_waiters();
        })?;
        Ok(task)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.outcome.lock().is_some()
    }

    /// Waits for the outcome.
    ///
    /// # Errors
    /// The errors of the work.
    pub(crate) async fn outcome(&self) -> Result<T, Failure> {
        loop {
            let done = self.done.notified();
            if let Some(outcome) = &*self.outcome.lock() {
                return outcome.clone();
            }
            done.await;
        }
    }
}
