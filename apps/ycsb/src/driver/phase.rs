//! The state that the connections of one phase share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::outstanding::Limits;
use crate::schedule::Pace;

/// How a phase is driven.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// When operations begin.
    pub pace: Pace,
    /// Bounds of each connection.
    pub limits: Limits,
    /// When to stop beginning operations.
    pub max_time: Option<Duration>,
    /// Whether all connections stop beginning operations once any has begun its last one. The offered load is then
    /// the same from the beginning to the end, instead of fading out.
    pub stop_together: bool,
    /// Fixes all random choices; each connection draws from its own stream.
    pub seed: u64,
}

/// Counts operations as they end, for the display of progress.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Operations that have ended so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

/// Time and the end of a phase, as all its connections see them.
#[derive(Debug)]
pub(super) struct Phase {
    started: Instant,
    max_time: Option<Duration>,
    stopped_at: OnceLock<Duration>,
    wake: Notify,
}

impl Phase {
    pub(super) fn new(max_time: Option<Duration>) -> Self {
        Self { started: Instant::now(), max_time, stopped_at: OnceLock::new(), wake: Notify::new() }
    }

    /// The time since the phase began.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Tells all connections to begin no more operations.
    pub(super) fn stop(&self) {
        // Only the first one counts.
        let _ = self.stopped_at.set(self.now());
        self.wake.notify_waiters();
    }

    /// Whether operations may still begin at `now`.
    pub(super) fn is_open(&self, now: Duration) -> bool {
        self.stopped_at.get().is_none() && self.max_time.is_none_or(|end| now < end)
    }

    /// When the phase closed for all connections at once, if it has.
    pub(super) fn closed_at(&self) -> Option<Duration> {
        let expired = self.max_time.filter(|end| *end <= self.now());
        [self.stopped_at.get().copied(), expired].into_iter().flatten().min()
    }

    /// When the time of the phase will be up, if it is not.
    pub(super) fn end_after(&self, now: Duration) -> Option<Duration> {
        self.max_time.filter(|end| *end > now)
    }

    /// Waits for [`Phase::stop`].
    pub(super) async fn stopped(&self) {
        let notified = self.wake.notified();
        if self.stopped_at.get().is_none() {
            notified.await;
        }
    }
}
