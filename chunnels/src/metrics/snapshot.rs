//! What was counted, at one moment.

use super::histogram::{BUCKETS, OCTAVES, SPLIT, upper_bound};
use std::time::Duration;

/// What one place of a stack has counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// How many connections there are at the moment.
    pub connections: u64,
    /// What was sent.
    pub sent: Totals,
    /// What was received.
    pub received: Totals,
    /// How long sending took.
    pub latency: Latency,
}

/// One direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Messages that passed. Those of a burst that fails in the midst count as far as the layers below had taken them.
    pub messages: u64,
    /// Bytes in them; zero where messages are not `Buf`s.
    pub bytes: u64,
    /// Calls that failed, but for those after the connection was closed.
    pub errors: u64,
}

/// How long calls of `send` and `send_batch` took that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latency {
    pub(super) counts: [u64; BUCKETS],
    pub(super) sum: Duration,
}

impl Latency {
    /// How many calls there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How long all of them took together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// How long one took on average; nothing before the first.
    pub fn mean(&self) -> Option<Duration> {
        let count = self.count();
        (count > 0).then(|| self.sum.div_f64(count as f64))
    }

    /// A time within which this part of the calls was over, from 0 to 1: `quantile(0.99)`. At most a quarter too long, at
    /// least a microsecond. Nothing before the first call, or if it is longer than half a minute.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let wanted = ((self.count() as f64 * part.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        let reaches = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        self.counts.iter().position(reaches).and_then(upper_bound)
    }

    /// For each factor of two its bound, and how many calls took no longer.
    pub(super) fn octaves(&self) -> impl Iterator<Item = (Duration, u64)> {
        (0..=OCTAVES).filter_map(|octave| {
            let last = octave << SPLIT;
            Some((upper_bound(last)?, self.counts[..=last].iter().sum()))
        })
    }
}
