//! Waiting for a message or the end of the link, whichever comes first.

use super::liveness::Liveness;
use bertha_core::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A reception that the end of the link interrupts. Costs nothing while messages are there: only a reception that
/// has to wait also looks at the link.
pub(super) struct Parked<'a, F> {
    liveness: &'a Liveness,
    reception: Pin<&'a mut F>,
    is_parked: bool,
}

impl<'a, F> Parked<'a, F> {
    pub(super) fn new(liveness: &'a Liveness, reception: Pin<&'a mut F>) -> Self {
        Self { liveness, reception, is_parked: false }
    }
}

impl<T, F: Future<Output = Result<T, Error>>> Future for Parked<'_, F> {
    type Output = Result<T, Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(received) = self.reception.as_mut().poll(context) {
            return Poll::Ready(received);
        }
        if !self.is_parked {
            self.is_parked = true;
            self.liveness.park();
        }
        self.liveness.poll_ended(context).map(Err)
    }
}

impl<F> Drop for Parked<'_, F> {
    #[inline]
    fn drop(&mut self) {
        if self.is_parked {
            self.liveness.unpark();
        }
    }
}
