//! A reception that also waits for the end of the link.

use super::{EpochQueue, Lifecycle};
use bertha_core::Error;
use std::future::Pending;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A reception that the end of the link interrupts, and any news in the queue. News in the queue make it
/// ready with `None`. It costs nothing while messages are there: only a reception that has to wait also looks
/// at the link.
pub(crate) struct Parked<'a, F, W> {
    lifecycle: &'a Lifecycle,
    queue: &'a EpochQueue,
    /// The state of the queue before the reception.
    state: u8,
    /// `None` if another reader reads.
    reception: Option<Pin<&'a mut F>>,
    /// Returns true as long as the reception is to wait.
    waits: W,
    is_parked: bool,
}

impl<'a, F> Parked<'a, F, ()> {
    /// Makes a reception that waits for news in a queue with this state.
    pub(crate) fn new(
        lifecycle: &'a Lifecycle,
        queue: &'a EpochQueue,
        state: u8,
        reception: Pin<&'a mut F>,
    ) -> Parked<'a, F, impl Fn() -> bool> {
        Parked { lifecycle, queue, state, reception: Some(reception), waits: || true, is_parked: false }
    }
}

impl<'a, F, W: Fn() -> bool> Parked<'a, F, W> {
    /// Works as [`new`](Parked::new). The reception also ends when `waits` no longer holds and the link's
    /// tasks are woken.
    pub(super) fn while_waiting(
        lifecycle: &'a Lifecycle,
        queue: &'a EpochQueue,
        state: u8,
        reception: Pin<&'a mut F>,
        waits: W,
    ) -> Self {
        Self { lifecycle, queue, state, reception: Some(reception), waits, is_parked: false }
    }
}

impl<'a, W: Fn() -> bool> Parked<'a, Pending<Result<(), Error>>, W> {
    /// Waits without reading, until the queue has news, or `waits` no longer holds and the link's tasks are
    /// woken. The peer's silence meanwhile does not count against the peer.
    pub(crate) fn not_reader(lifecycle: &'a Lifecycle, queue: &'a EpochQueue, state: u8, waits: W) -> Self {
        Self { lifecycle, queue, state, reception: None, waits, is_parked: false }
    }
}

impl<T, F: Future<Output = Result<T, Error>>, W: Fn() -> bool + Unpin> Future for Parked<'_, F, W> {
    type Output = Result<Option<T>, Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(reception) = &mut self.reception {
            if let Poll::Ready(received) = reception.as_mut().poll(context) {
                return Poll::Ready(received.map(Some));
            }
            self.lifecycle.polled();
        }
        if !self.is_parked {
            self.is_parked = true;
            self.lifecycle.park();
        }
        if let Poll::Ready(error) = self.lifecycle.poll_ended(context) {
            return Poll::Ready(Err(error));
        }
        // The queue is read after the task was registered, so news from now on wake the task.
        if self.queue.state() != self.state || !(self.waits)() {
            return Poll::Ready(Ok(None));
        }
        Poll::Pending
    }
}

impl<F, W> Drop for Parked<'_, F, W> {
    #[inline]
    fn drop(&mut self) {
        if self.is_parked {
            self.lifecycle.unpark();
        }
    }
}
