//! The future of every wait for a queue.

use super::{Queue, QueueState, Side};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that tries until it succeeds, and in between waits for the queue to change. Dropping it loses
/// nothing: an attempt either took its message within the poll that returns it, or took none.
pub(crate) struct Wait<'a, T, F> {
    queue: &'a Queue<T>,
    side: Side,
    attempt: F,
    key: Option<u64>,
}

impl<'a, T, F> Wait<'a, T, F> {
    pub(super) fn new(queue: &'a Queue<T>, side: Side, attempt: F) -> Self {
        Self { queue, side, attempt, key: None }
    }
}

// The parts of the future are never pinned.
impl<T, F> Unpin for Wait<'_, T, F> {}

impl<T, F, Output> Future for Wait<'_, T, F>
where
    F: FnMut(&mut QueueState<T>) -> Poll<Output>,
{
    type Output = Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Output> {
        let this = &mut *self;
        let mut state = this.queue.state.lock();
        let outcome = (this.attempt)(&mut state);
        let waiters = state.waiters(this.side);
        let mut left = None;
        if outcome.is_pending() {
            this.key = Some(waiters.register(this.key, context.waker()));
        } else if let Some(key) = this.key.take() {
            left = waiters.remove(key);
        }
        this.queue.unlock_and_wake(state);
        // The waker is dropped outside the lock, since the last waker of a task may drop the task.
        drop(left);
        outcome
    }
}

impl<T, F> Drop for Wait<'_, T, F> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.queue.state.lock().waiters(self.side).remove(key);
            // The waker is dropped outside the lock, as above.
            drop(waker);
        }
    }
}
