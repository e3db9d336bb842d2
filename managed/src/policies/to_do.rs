//! The signal that a connection has work beside messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Wake;
use tokio::sync::Notify;

/// A signal for the task of a connection that there is something to do. As a [`Waker`](std::task::Waker) it is that of engines, which have to
/// work then even if none is due.
#[derive(Debug, Default)]
pub(super) struct ToDo {
    changed: Notify,
    is_woken: AtomicBool,
}

impl ToDo {
    pub(super) fn tell(&self) {
        self.changed.notify_one();
    }

    /// Waits for the signal.
    pub(super) async fn told(&self) {
        self.changed.notified().await;
    }

    /// Returns true if engines were woken since this was asked last.
    pub(super) fn take_woken(&self) -> bool {
        self.is_woken.swap(false, Relaxed)
    }
}

impl Wake for ToDo {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The notification orders the flag before what its receiver reads.
        self.is_woken.store(true, Relaxed);
        self.tell();
    }
}
