//! Acknowledgements in bunches.
//!
//! Where a path delays packets or acknowledgements by different times, acknowledgements come back in bunches,
//! long after the shortest round trip. A window of the rate times the shortest round trip would stall the
//! flow in between. So the flow may have more bytes in flight: as many as were recently acknowledged beyond
//! the rate (draft-cardwell-iccrg-bbr-congestion-control-02, section 4.2.3.4).

use std::time::Duration;

/// Minimum number of round trips for which an excess counts; at most it counts for twice as many.
const ROUNDS: u64 = 5;

/// Maximum size of a bunch: the bytes of this time at the rate.
const LONGEST: Duration = Duration::from_millis(100);

/// The largest recent excess of acknowledged bytes over the bytes that the rate explains.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    /// The time since which acknowledgements have come faster than the rate; `acked` are the bytes that came
    /// since.
    since: Duration,
    acked: u64,
    /// The largest excess since `round`; `before` is the largest excess of the round trips before.
    largest: u64,
    before: u64,
    round: u64,
}

impl Aggregation {
    /// Handles `bytes` that were acknowledged at `now`, while the estimate of the rate was `rate` bytes per
    /// second and the window `window` bytes.
    pub(super) fn sample(&mut self, round: u64, rate: u64, bytes: u64, window: u64, now: Duration) {
        if round >= self.round + ROUNDS {
            (self.before, self.largest, self.round) = (self.largest, 0, round);
        }
        let in_time = |time: Duration| (u128::from(rate) * time.as_nanos() / 1_000_000_000) as u64;
        let mut expected = in_time(now.saturating_sub(self.since));
        if self.acked <= expected {
            (self.since, self.acked, expected) = (now, 0, 0);
        }
        self.acked += bytes;
        let excess = self.acked.saturating_sub(expected).min(window).min(in_time(LONGEST));
        self.largest = self.largest.max(excess);
    }

    /// Returns the number of bytes to have in flight beyond the window.
    pub(super) fn extra(&self) -> u64 {
        self.largest.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_bunch_counts_for_what_the_rate_does_not_explain() {
        let mut aggregation = Aggregation::default();
        // A megabyte per second, smoothly: each acknowledgement's excess is its own size.
        for at in 1..100 {
            aggregation.sample(0, 1_000_000, 1_000, 50_000, ms(at));
        }
        assert!(aggregation.extra() <= 2_000, "{}", aggregation.extra());
        // An acknowledgement of the bytes of twenty milliseconds at once.
        aggregation.sample(1, 1_000_000, 20_000, 50_000, ms(120));
        assert!((20_000..=22_000).contains(&aggregation.extra()), "{}", aggregation.extra());
        // The excess counts for at least five rounds, and at most ten.
        aggregation.sample(5, 1_000_000, 1_000, 50_000, ms(200));
        assert!(aggregation.extra() >= 20_000);
        aggregation.sample(11, 1_000_000, 1_000, 50_000, ms(300));
        aggregation.sample(16, 1_000_000, 1_000, 50_000, ms(400));
        assert!(aggregation.extra() <= 2_000, "{}", aggregation.extra());
    }

    #[test]
    fn it_is_bounded_by_the_window_and_a_tenth_of_a_second() {
        let mut aggregation = Aggregation::default();
        aggregation.sample(0, 1_000_000, 500_000, 30_000, ms(1));
        assert_eq!(aggregation.extra(), 30_000);
        let mut aggregation = Aggregation::default();
        aggregation.sample(0, 1_000_000, 500_000, u64::MAX, ms(1));
        assert_eq!(aggregation.extra(), 100_000);
    }
}
