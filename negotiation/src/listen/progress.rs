//! The progress of a handshake, and its end for want of room.

use bertha_core::{BoxFuture, Runtime};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// The time since which a handshake waits for its peer, and the signal to give the handshake up. All copies share
/// both.
#[derive(Debug, Clone)]
pub(super) struct Progress(Arc<ProgressState>);

#[derive(Debug)]
struct ProgressState {
    heard_at: Mutex<Instant>,
    given_up: Notify,
}

impl Progress {
    /// Makes the progress of a handshake whose peer was heard `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self(Arc::new(ProgressState { heard_at: Mutex::new(now), given_up: Notify::new() }))
    }

    /// Returns the time at which the peer was heard last.
    pub(super) fn heard_at(&self) -> Instant {
        *self.0.heard_at.lock()
    }

    /// The peer was heard `now`.
    pub(super) fn heard(&self, now: Instant) {
        *self.0.heard_at.lock() = now;
    }

    /// Asks the handshake to end, and to tell its peer that there is no room.
    pub(super) fn give_up(&self) {
        self.0.given_up.notify_one();
    }

    /// Waits until the handshake has to end. One future waits at a time. Cancellation-safe.
    pub(super) async fn given_up(&self) {
        self.0.given_up.notified().await;
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
