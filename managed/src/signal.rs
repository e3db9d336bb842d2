//! The signal that engines have work beside messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Wake;
use tokio::sync::Notify;

/// A signal for the owner of a chain that there is something to do. Engines have it as a [`Waker`](std::task::Waker), and have to work when
/// they gave it, even if none is due.
#[derive(Debug, Default)]
pub struct Signal {
    changed: Notify,
    is_woken: AtomicBool,
}

impl Signal {
    /// Gives the signal. It stays until it is heard, and is one however often it is given.
    pub fn tell(&self) {
        self.changed.notify_one();
    }

    /// Waits for the signal. A future that is dropped leaves it to the next.
    pub async fn told(&self) {
        self.changed.notified().await;
    }

    /// Returns true if engines gave the signal since this was asked last.
    pub fn take_woken(&self) -> bool {
        self.is_woken.swap(false, Relaxed)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The notification orders the flag before what its receiver reads.
        self.is_woken.store(true, Relaxed);
        self.tell();
    }
}
