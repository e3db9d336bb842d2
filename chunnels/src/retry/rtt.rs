//! The time-out of a request.

use std::time::Duration;

/// The time-out of RFC 6298, from a smoothed round-trip time and its variation.
///
/// By Karn's rule only requests that were sent once are sampled, since a reply does not say which attempt it
/// answers; and the time-out, doubled by each loss, stays doubled until such a sample arrives. If it did not
/// stay doubled, a sudden growth of the round-trip time beyond the time-out would never be noticed.
///
/// The caller takes one sample per round trip, as the RFC requires: the gains of the averages assume it. With
/// a sample from every reply of a window the averages forget within a fraction of a round trip, and each slow
/// drift looks like a loss.
#[derive(Clone, Debug)]
pub(super) struct RttEstimator {
    smoothed: Option<Duration>,
    variation: Duration,
    initial: Duration,
    min: Duration,
    max: Duration,
    doublings: u32,
}

impl RttEstimator {
    /// Makes an estimator with the first time-out, the minimum time beyond the smoothed round trip, and the
    /// maximum time-out.
    pub(super) fn new(initial: Duration, min: Duration, max: Duration) -> Self {
        Self { smoothed: None, variation: Duration::ZERO, initial, min, max: max.max(min), doublings: 0 }
    }

    /// Records that a request that was sent once was answered after `rtt`.
    pub(super) fn sample(&mut self, rtt: Duration) {
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.variation = rtt / 2;
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(rtt)) / 4;
                self.smoothed = Some((smoothed * 7 + rtt) / 8);
            }
        }
        self.doublings = 0;
    }

    /// Records that a time-out has passed without a reply.
    pub(super) fn back_off(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// Returns the time to wait for the reply to attempt `attempt` (from 1) of a request.
    pub(super) fn timeout(&self, attempt: u32) -> Duration {
        let base = self.smoothed.map_or(self.initial, |smoothed| smoothed + self.min.max(self.variation * 4));
        let doublings = self.doublings.max(attempt.saturating_sub(1));
        base.saturating_mul(2_u32.saturating_pow(doublings)).min(self.max)
    }

    /// Returns the smoothed round-trip time, if there has been a sample.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn follows_rfc_6298() {
        let mut rtt = RttEstimator::new(100 * MS, MS, 1000 * MS);
        assert_eq!(rtt.timeout(1), 100 * MS);
        rtt.sample(8 * MS);
        assert_eq!(rtt.timeout(1), 24 * MS);
        // variation = (3 * 4 + |8 - 16|) / 4 = 5, smoothed = (7 * 8 + 16) / 8 = 9
        rtt.sample(16 * MS);
        assert_eq!((rtt.smoothed(), rtt.timeout(1)), (Some(9 * MS), 29 * MS));
    }

    #[test]
    fn doubles_until_a_sample_and_within_bounds() {
        let mut rtt = RttEstimator::new(100 * MS, 10 * MS, 1000 * MS);
        rtt.sample(MS);
        assert_eq!([1, 2, 3].map(|attempt| rtt.timeout(attempt)), [11 * MS, 22 * MS, 44 * MS]);
        rtt.back_off();
        rtt.back_off();
        assert_eq!([1, 3, 4].map(|attempt| rtt.timeout(attempt)), [44 * MS, 44 * MS, 88 * MS]);
        assert_eq!(rtt.timeout(u32::MAX), 1000 * MS);
        rtt.sample(MS);
        assert_eq!(rtt.timeout(1), 11 * MS);
    }
}
