//! Waiting for a message, for the end of the link, or for news in the queue, whichever comes first.

use super::epoch_queue::EpochQueue;
use super::liveness::Liveness;
use bertha_core::Error;
use std::future::Pending;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A reception that is interrupted by the end of the link, and by what another reader puts into the queue: then it is
/// ready with nothing. Costs nothing while messages are there: only a reception that has to wait also looks at the
/// link.
pub struct Parked<'a, F, W> {
    liveness: &'a Liveness,
    queue: &'a EpochQueue,
    state: u8,
    /// Nothing if somebody else reads.
    reception: Option<Pin<&'a mut F>>,
    waits: W,
    is_parked: bool,
}

impl<'a, F> Parked<'a, F, ()> {
    /// A reception, when this stood in the queue.
    pub fn new(
        liveness: &'a Liveness,
        queue: &'a EpochQueue,
        state: u8,
        reception: Pin<&'a mut F>,
    ) -> Parked<'a, F, impl Fn() -> bool> {
        Parked { liveness, queue, state, reception: Some(reception), waits: || true, is_parked: false }
    }
}

impl<'a, F, W: Fn() -> bool> Parked<'a, F, W> {
    /// As `new`, also interrupted when `waits` no longer holds and the link's tasks are woken.
    pub(super) fn while_waiting(
        liveness: &'a Liveness,
        queue: &'a EpochQueue,
        state: u8,
        reception: Pin<&'a mut F>,
        waits: W,
    ) -> Self {
        Self { liveness, queue, state, reception: Some(reception), waits, is_parked: false }
    }
}

impl<'a, W: Fn() -> bool> Parked<'a, Pending<Result<(), Error>>, W> {
    /// Waits without reading, and is also interrupted when `waits` no longer holds and the link's tasks are woken. That nothing
    /// is heard meanwhile says nothing about the peer.
    pub fn aside(liveness: &'a Liveness, queue: &'a EpochQueue, state: u8, waits: W) -> Self {
        Self { liveness, queue, state, reception: None, waits, is_parked: false }
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
            self.liveness.polled();
        }
        if !self.is_parked {
            self.is_parked = true;
            self.liveness.park();
        }
        if let Poll::Ready(error) = self.liveness.poll_ended(context) {
            return Poll::Ready(Err(error));
        }
        // After the task was remembered, so that what is put there from now on wakes it.
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
            self.liveness.unpark();
        }
    }
}
