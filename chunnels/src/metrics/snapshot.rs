//! The counters at one moment.

use super::buckets::{BUCKETS, OCTAVES, SPLIT, upper_bound};
use std::time::Duration;

/// The counters of one position of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The number of open connections.
    pub connections: u64,
    /// The sent messages.
    pub sent: Totals,
    /// The received messages.
    pub received: Totals,
    /// The latency of sending.
    pub latency: Latency,
}

/// The counters of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Number of messages that passed. Messages of a failed burst count as far as the layers below have taken
    /// them.
    pub messages: u64,
    /// Number of bytes in them; zero where messages are not `Buf`s.
    pub bytes: u64,
    /// Number of calls that failed, except calls after the connection was closed.
    pub errors: u64,
}

/// The times of a [`Histogram`](super::Histogram), such as those of the calls of `send` and `send_batch` that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latency {
    pub(super) counts: [u64; BUCKETS],
    pub(super) sum: Duration,
}

impl Latency {
    /// Returns the number of calls.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of the times of all calls.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Returns the mean time of a call; `None` before the first.
    pub fn mean(&self) -> Option<Duration> {
        let count = self.count();
        (count > 0).then(|| self.sum.div_f64(count as f64))
    }

    /// Returns the time within which the fraction `q` of the calls completed, from 0 to 1: `quantile(0.99)`.
    /// The result is at most a quarter too long, and at least a microsecond. `None` before the first call,
    /// and beyond half a minute.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let wanted = ((self.count() as f64 * q.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        let reaches = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        self.counts.iter().position(reaches).and_then(upper_bound)
    }

    /// Iterates over the times that are factors of two apart: each bound, and the number of calls within it.
    pub fn octaves(&self) -> impl Iterator<Item = (Duration, u64)> {
        (0..=OCTAVES).filter_map(|octave| {
            let last = octave << SPLIT;
            Some((upper_bound(last)?, self.counts[..=last].iter().sum()))
        })
    }
}
