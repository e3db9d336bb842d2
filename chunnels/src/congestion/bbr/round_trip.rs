//! The round-trip time of the path without queues.

use std::time::Duration;

/// The time for which the smallest sample counts.
const LIFETIME: Duration = Duration::from_secs(10);

/// The inverse of the weight of a new spread.
const SMOOTHING: u32 = 16;

/// A sample, and the time at which it was taken.
#[derive(Debug, Clone, Copy)]
struct Sample {
    round_trip: Duration,
    at: Duration,
}

/// The smallest round-trip time of the last ten seconds.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    min: Option<Sample>,
    spread: Duration,
}

impl RoundTrip {
    /// Handles a sample; zero is no sample. Returns true if the smallest sample is so old that the path has
    /// to be probed again.
    pub(super) fn sample(&mut self, now: Duration, sample: Duration) -> bool {
        let is_stale = self.min.is_some_and(|min| now.saturating_sub(min.at) > LIFETIME);
        let is_less = self.min.is_none_or(|min| sample <= min.round_trip);
        if !sample.is_zero() && (is_less || is_stale) {
            self.min = Some(Sample { round_trip: sample, at: now });
        }
        is_stale
    }

    /// Handles the [spread](crate::congestion::Ack::spread) of an acknowledgement.
    pub(super) fn spread_by(&mut self, spread: Duration) {
        self.spread = self.spread - self.spread / SMOOTHING + spread / SMOOTHING;
    }

    /// Returns the smoothed time by which packets are acknowledged later than the newest packet of the same
    /// acknowledgement.
    pub(super) fn spread(&self) -> Duration {
        self.spread
    }

    /// Returns the average time for which packets are in flight without a queue, once there is a sample.
    ///
    /// The smallest sample belongs to a quick packet. Where packets overtake each other, a window for that
    /// time alone would stall the flow while most packets are still on their way.
    pub(super) fn stay(&self) -> Option<Duration> {
        self.min.map(|min| min.round_trip + self.spread)
    }

    /// Records that the path was probed.
    pub(super) fn renew(&mut self, now: Duration) {
        if let Some(min) = &mut self.min {
            min.at = now;
        }
    }

    /// Returns the smallest sample, once there is a sample.
    #[cfg(test)]
    fn min(&self) -> Option<Duration> {
        self.min.map(|min| min.round_trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_smallest_counts_for_ten_seconds() {
        let mut round_trip = RoundTrip::default();
        assert!(!round_trip.sample(ms(0), Duration::ZERO));
        assert_eq!(round_trip.min(), None);
        assert!(!round_trip.sample(ms(0), ms(20)));
        assert!(!round_trip.sample(ms(10_000), ms(25)));
        assert_eq!(round_trip.min(), Some(ms(20)));
        assert!(round_trip.sample(ms(10_001), ms(25)));
        assert_eq!(round_trip.min(), Some(ms(25)));
        assert!(!round_trip.sample(ms(20_000), ms(30)));
    }

    #[test]
    fn packets_that_others_overtake_stay_longer() {
        let mut round_trip = RoundTrip::default();
        round_trip.sample(ms(0), ms(20));
        assert_eq!(round_trip.stay(), Some(ms(20)));
        (0..200).for_each(|_| round_trip.spread_by(ms(16)));
        assert!((ms(35)..=ms(36)).contains(&round_trip.stay().unwrap()), "{:?}", round_trip.stay());
        assert_eq!(round_trip.min(), Some(ms(20)));
    }
}
