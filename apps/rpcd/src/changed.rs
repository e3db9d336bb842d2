//! The signal that engines have work beside messages.

use std::sync::Arc;
use std::task::Wake;
use tokio::sync::Notify;

/// A signal for the task of a caller that its engines have work, from an operator or from engines of other callers, which have it as a
/// [`Waker`](std::task::Waker).
#[derive(Debug, Default)]
pub(crate) struct Changed(Notify);

impl Changed {
    pub(crate) fn tell(&self) {
        self.0.notify_one();
    }

    /// Waits for the signal.
    pub(crate) async fn told(&self) {
        self.0.notified().await;
    }
}

impl Wake for Changed {
    fn wake(self: Arc<Self>) {
        self.tell();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.tell();
    }
}
