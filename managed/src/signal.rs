//! The signal that engines have work beside messages.

use std::sync::Arc;
use std::task::Wake;
use tokio::sync::Notify;

/// A signal for the owner of a chain that its engines have work, from an operator or from engines of other callers, which have it as a
/// [`Waker`](std::task::Waker).
#[derive(Debug, Default)]
pub struct Signal(Notify);

impl Signal {
    /// Gives the signal. It stays until it is heard, and is one however often it is given.
    pub fn tell(&self) {
        self.0.notify_one();
    }

    /// Waits for the signal. A future that is dropped leaves it to the next.
    pub async fn told(&self) {
        self.0.notified().await;
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.tell();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.tell();
    }
}
