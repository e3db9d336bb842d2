//! The delay of the path without queues.

use std::time::Duration;

/// For how long the smallest sample counts.
const LIFETIME: Duration = Duration::from_secs(10);

/// The smallest round-trip time of the last ten seconds.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    least: Option<(Duration, Duration)>,
}

impl RoundTrip {
    /// Takes in a sample; zero is none. Whether the smallest is so old that the path has to be looked at again.
    pub(super) fn sample(&mut self, now: Duration, sample: Duration) -> bool {
        let is_stale = self.least.is_some_and(|(_, at)| now.saturating_sub(at) > LIFETIME);
        let is_less = self.least.is_none_or(|(least, _)| sample <= least);
        if !sample.is_zero() && (is_less || is_stale) {
            self.least = Some((sample, now));
        }
        is_stale
    }

    /// Says that the path was looked at.
    pub(super) fn renew(&mut self, now: Duration) {
        if let Some((_, at)) = &mut self.least {
            *at = now;
        }
    }

    /// The smallest, once there is one.
    pub(super) fn least(&self) -> Option<Duration> {
        self.least.map(|(least, _)| least)
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
        assert_eq!(round_trip.least(), None);
        assert!(!round_trip.sample(ms(0), ms(20)));
        assert!(!round_trip.sample(ms(10_000), ms(25)));
        assert_eq!(round_trip.least(), Some(ms(20)));
        assert!(round_trip.sample(ms(10_001), ms(25)));
        assert_eq!(round_trip.least(), Some(ms(25)));
        assert!(!round_trip.sample(ms(20_000), ms(30)));
    }
}
