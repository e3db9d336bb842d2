//! The time-out of a request.

use bertha_core::rtt::RttEstimator;
use std::time::Duration;

/// The time-out of RFC 6298.
///
/// A time-out that was doubled by a loss stays doubled until a request is answered that was sent once. If it
/// did not stay doubled, a sudden growth of the round-trip time beyond the time-out would never be noticed.
#[derive(Clone, Debug)]
pub(super) struct RequestTimeout {
    rtt: RttEstimator,
    initial: Duration,
    min: Duration,
    max: Duration,
    doublings: u32,
}

impl RequestTimeout {
    /// Makes a time-out from the first time-out, the minimum time beyond the smoothed round trip, and the
    /// maximum time-out.
    pub(super) fn new(initial: Duration, min: Duration, max: Duration) -> Self {
        Self { rtt: RttEstimator::default(), initial, min, max: max.max(min), doublings: 0 }
    }

    /// Records that a request that was sent once was answered after `rtt`.
    pub(super) fn sample(&mut self, rtt: Duration) {
        self.rtt.sample(rtt);
        self.doublings = 0;
    }

    /// Records that a time-out has passed without a reply.
    pub(super) fn back_off(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// Returns the time to wait for the reply to attempt `attempt` (from 1) of a request.
    pub(super) fn of_attempt(&self, attempt: u32) -> Duration {
        let base = self.rtt.timeout(self.min).unwrap_or(self.initial);
        let doublings = self.doublings.max(attempt.saturating_sub(1));
        base.saturating_mul(2_u32.saturating_pow(doublings)).min(self.max)
    }

    /// Returns the smoothed round-trip time, if there has been a sample.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn follows_rfc_6298() {
        let mut timeout = RequestTimeout::new(100 * MS, MS, 1000 * MS);
        assert_eq!(timeout.of_attempt(1), 100 * MS);
        timeout.sample(8 * MS);
        assert_eq!(timeout.of_attempt(1), 24 * MS);
        // variation = (3 * 4 + |8 - 16|) / 4 = 5, smoothed = (7 * 8 + 16) / 8 = 9
        timeout.sample(16 * MS);
        assert_eq!((timeout.smoothed(), timeout.of_attempt(1)), (Some(9 * MS), 29 * MS));
    }

    #[test]
    fn doubles_until_a_sample_and_within_bounds() {
        let mut timeout = RequestTimeout::new(100 * MS, 10 * MS, 1000 * MS);
        timeout.sample(MS);
        assert_eq!([1, 2, 3].map(|attempt| timeout.of_attempt(attempt)), [11 * MS, 22 * MS, 44 * MS]);
        timeout.back_off();
        timeout.back_off();
        assert_eq!([1, 3, 4].map(|attempt| timeout.of_attempt(attempt)), [44 * MS, 44 * MS, 88 * MS]);
        assert_eq!(timeout.of_attempt(u32::MAX), 1000 * MS);
        timeout.sample(MS);
        assert_eq!(timeout.of_attempt(1), 11 * MS);
    }
}
