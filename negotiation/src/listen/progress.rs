//! The time at which the peer of a handshake was heard.

use bertha_core::{BoxFuture, Runtime};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Instant;

/// The time since which a handshake waits for its peer. All copies share the time.
#[derive(Debug, Clone)]
pub(super) struct Progress(Arc<Mutex<Instant>>);

impl Progress {
    /// Makes the progress of a handshake whose peer was heard `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self(Arc::new(Mutex::new(now)))
    }

    /// Returns the time at which the peer was heard last.
    pub(super) fn heard_at(&self) -> Instant {
        *self.0.lock()
    }

    /// The peer was heard `now`.
    pub(super) fn heard(&self, now: Instant) {
        *self.0.lock() = now;
    }

    /// Runs `work`, and records progress when `arrivals`, a running count of messages of the peer, has
    /// changed.
    pub(super) async fn observe<T>(
        &self,
        runtime: &impl Runtime,
        mut arrivals: impl FnMut() -> Option<u32> + Send,
        mut work: BoxFuture<'_, T>,
    ) -> T {
        let mut seen = arrivals();
        poll_fn(|cx| {
            let polled = work.as_mut().poll(cx);
            let count = arrivals();
            if count != seen {
                seen = count;
                self.heard(runtime.now());
            }
            polled
        })
        .await
    }
}
