//! The end of a connection, as waiting calls learn of it.

use futures_util::future::{Either, select};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// The flag that this end has closed the connection.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    is_closed: AtomicBool,
    closed: Notify,
}

impl Closing {
    /// Closes the connection. Returns true if it was open.
    pub(crate) fn close(&self) -> bool {
        let was_closed = self.is_closed.swap(true, Ordering::AcqRel);
        self.closed.notify_waiters();
        !was_closed
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Waits until the connection is closed.
    pub(crate) async fn closed(&self) {
        // The future is created before the check, so that no notification is missed.
        let closed = self.closed.notified();
        if !self.is_closed() {
            closed.await;
        }
    }

    /// Returns the output of `work`, or `None` if the connection is closed before the output is ready.
    ///
    /// The caller keeps the future: passed by value, the kilobytes of a call to a service would be copied for
    /// each message, and be in this future as well as in the caller's.
    pub(crate) async fn unless_closed<T>(&self, work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        if self.is_closed() {
            return None;
        }
        match select(work, pin!(self.closed())).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }
}
