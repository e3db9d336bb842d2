//! The source of values that a task of the process gets, one by one, for calls that wait for it: clients, calls, and messages of streams.

use crate::failure::Failure;
use crate::queue::{Look, Queue};
use crate::readiness::Readiness;
use crate::wait::{Limit, spawn, wait};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Most items that wait for a call; the task gets no more before.
const WAITING: usize = 16;

/// Items from a task, which ends with the object that has it.
#[derive(Debug)]
pub(crate) struct Source<T> {
    released: CancellationToken,
    items: Arc<Queue<Result<T, Failure>>>,
}

/// The end of a source at which its task puts items.
pub(crate) struct Filling<T>(Arc<Queue<Result<T, Failure>>>);

impl<T> Filling<T> {
    /// Waits until there is room for an item.
    pub(crate) async fn has_room(&self) {
        self.0.has_room(WAITING).await;
    }

    pub(crate) fn push(&self, item: T) {
        self.0.push([Ok(item)]);
    }
}

impl<T: Send + 'static> Source<T> {
    /// Begins the task, whose outcome every call gets from then on.
    ///
    /// # Errors
    /// [`BERTHA_EXHAUSTED`](crate::code::Code::BERTHA_EXHAUSTED) if there is no runtime.
    pub(crate) fn begin<F: Future<Output = Failure> + Send + 'static>(
        released: &CancellationToken,
        readiness: &Arc<Readiness>,
        task: impl FnOnce(Filling<T>) -> F,
    ) -> Result<Self, Failure> {
        let items = Arc::new(Queue::new(readiness.clone()));
        let (filled, ended) = (task(Filling(items.clone())), items.clone());
        spawn(released.clone(), async move { ended.push([Err(filled.await)]) })?;
        Ok(Self { released: released.clone(), items })
    }

    /// Waits for an item.
    ///
    /// # Errors
    /// The outcome of the task; [`Failure::LATE`]; [`Failure::RELEASED`].
    pub(crate) fn next(&self, limit: Limit) -> Result<T, Failure> {
        loop {
            let outcome = wait(limit, &self.released, self.found());
            // An item that came behind the look is found at once.
            match outcome {
                Err(failure) if failure.is_late() && !self.items.clear_if_empty() => {}
                outcome => return outcome,
            }
        }
    }

    async fn found(&self) -> Result<T, Failure> {
        loop {
            let arrival = self.items.arrival();
            match self.items.take() {
                Look::Found(Err(failure)) => {
                    self.items.put_back(Err(failure.clone()));
                    return Err(failure);
                }
                Look::Found(item) => return item,
                Look::Gathering | Look::Nothing => arrival.await,
            }
        }
    }
}
