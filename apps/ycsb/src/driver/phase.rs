//! The state that the connections of a phase share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::outstanding::Limits;
use crate::schedule::Pace;

/// The plan of a phase.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The times at which operations begin.
    pub pace: Pace,
    /// Bounds of each connection.
    pub limits: Limits,
    /// Time after which no operation begins.
    pub max_time: Option<Duration>,
    /// True if all connections stop beginning operations once any connection has begun its last. The offered
    /// load is then constant from the beginning to the end, instead of fading out.
    pub stop_together: bool,
    /// Seed of all random choices; each connection draws from its own stream.
    pub seed: u64,
}

/// A counter of operations as they end, for the display of progress.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Returns the number of operations that have ended so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

/// The time and the end of a phase, as all its connections see them.
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

    /// Returns the time since the phase began.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Tells all connections to begin no more operations.
    pub(super) fn stop(&self) {
        // Only the first call counts.
        let _ = self.stopped_at.set(self.now());
        self.wake.notify_waiters();
    }

    /// Returns true if operations may still begin at `now`.
    pub(super) fn is_open(&self, now: Duration) -> bool {
        self.stopped_at.get().is_none() && self.max_time.is_none_or(|end| now < end)
    }

    /// Returns the time at which the phase closed for all connections at once, if it has.
    pub(super) fn closed_at(&self) -> Option<Duration> {
        let expired = self.max_time.filter(|end| *end <= self.now());
        [self.stopped_at.get().copied(), expired].into_iter().flatten().min()
    }

    /// Returns the time until the phase's time is up, if it is not yet.
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
