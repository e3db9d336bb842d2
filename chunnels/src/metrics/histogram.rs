//! A histogram of times.

use super::Latency;
use super::buckets::{BUCKETS, bucket};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Times in buckets, of which each factor of two from a microsecond to half a minute has four. Recording takes two atomic additions.
#[derive(Debug)]
pub struct Histogram {
    counts: [AtomicU64; BUCKETS],
    /// The sum of all times in nanoseconds; wraps after five hundred years.
    sum: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [const { AtomicU64::new(0) }; BUCKETS], sum: AtomicU64::new(0) }
    }
}

impl Histogram {
    /// Adds a time.
    #[inline]
    pub fn record(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanos)].fetch_add(1, Relaxed);
        self.sum.fetch_add(nanos, Relaxed);
    }

    /// Returns the times so far.
    pub fn snapshot(&self) -> Latency {
        let counts = std::array::from_fn(|bucket| self.counts[bucket].load(Relaxed));
        Latency { counts, sum: Duration::from_nanos(self.sum.load(Relaxed)) }
    }
}
