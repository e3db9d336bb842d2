//! The round-trip time (RFC 9002, section 5).

use bertha_core::rtt::RttEstimator;
use std::time::Duration;

/// The estimate before the first sample (section 6.2.2).
pub(super) const INITIAL: Duration = Duration::from_millis(333);

/// The longest time for which a receiver delays an acknowledgement, equal at both ends.
pub(super) const MAX_ACK_DELAY: Duration = Duration::from_millis(1);

/// The resolution of timers (section 6.1.2).
pub(super) const GRANULARITY: Duration = Duration::from_millis(1);

/// The round-trip time, with the delay that a receiver adds to its acknowledgements.
#[derive(Debug)]
pub(super) struct Rtt {
    pub(super) latest: Duration,
    average: RttEstimator,
    min: Duration,
    /// Time of the first sample.
    pub(super) first_sample: Option<Duration>,
}

impl Default for Rtt {
    fn default() -> Self {
        Self {
            latest: Duration::ZERO,
            average: RttEstimator::default(),
            min: Duration::MAX,
            first_sample: None,
        }
    }
}

impl Rtt {
    /// Records a sample of an acknowledgement that was delayed by `delay`, as the peer states.
    pub(super) fn sample(&mut self, latest: Duration, delay: Duration, now: Duration) {
        self.latest = latest;
        self.min = self.min.min(latest);
        if self.first_sample.is_none() {
            self.first_sample = Some(now);
            self.average.sample(latest);
            return;
        }
        // An overstated delay must not reduce the sample below the smallest sample.
        let delay = delay.min(MAX_ACK_DELAY);
        let adjusted = if latest >= self.min + delay { latest - delay } else { latest };
        self.average.sample(adjusted);
    }

    /// Returns the smoothed round-trip time; before the first sample, the estimate of the RFC.
    pub(super) fn smoothed(&self) -> Duration {
        self.average.smoothed().unwrap_or(INITIAL)
    }

    /// Returns the mean variation; zero before the first sample.
    #[cfg(feature = "qlog")]
    pub(super) fn variation(&self) -> Duration {
        self.average.variation().unwrap_or_default()
    }

    /// Returns the smallest sample; zero before the first sample.
    pub(super) fn min(&self) -> Duration {
        if self.first_sample.is_some() { self.min } else { Duration::ZERO }
    }

    /// Returns the time after its sending at which a packet is lost, once a later packet is acknowledged (section 6.1.2).
    pub(super) fn loss_delay(&self) -> Duration {
        (self.latest.max(self.smoothed()) * 9 / 8).max(GRANULARITY)
    }

    /// Returns the probe time-out (section 6.2.1).
    pub(super) fn probe_timeout(&self) -> Duration {
        // Before the first sample, the variation is half of the estimate (section 5.3).
        let timeout = self.average.timeout(GRANULARITY).unwrap_or(INITIAL + INITIAL / 2 * 4);
        timeout + MAX_ACK_DELAY
    }

    /// Returns the time in which all packets have to be lost to count as persistent congestion (section 7.6.1).
    pub(super) fn persistent(&self) -> Duration {
        self.probe_timeout() * 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn samples_are_smoothed_as_the_rfc_says() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.probe_timeout(), Duration::from_micros(333_000 + 4 * 166_500 + 1_000));
        rtt.sample(ms(80), ms(0), ms(80));
        assert_eq!((rtt.smoothed(), rtt.probe_timeout()), (ms(80), ms(80 + 4 * 40 + 1)));
        rtt.sample(ms(85), ms(1), ms(200));
        let smoothed = Duration::from_micros(80_500);
        assert_eq!((rtt.smoothed(), rtt.probe_timeout()), (smoothed, smoothed + ms(4 * 31 + 1)));
        assert_eq!(rtt.loss_delay(), Duration::from_micros(95_625));
    }

    #[test]
    fn a_delay_that_cannot_be_is_not_believed() {
        let mut rtt = Rtt::default();
        rtt.sample(ms(80), ms(0), ms(80));
        rtt.sample(ms(80), ms(60), ms(160));
        assert_eq!(rtt.smoothed(), ms(80));
    }

    #[test]
    fn the_shortest_sample_and_the_first_are_known() {
        let mut rtt = Rtt::default();
        assert_eq!((rtt.min(), rtt.smoothed(), rtt.first_sample), (ms(0), INITIAL, None));
        rtt.sample(ms(80), ms(0), ms(100));
        rtt.sample(ms(40), ms(0), ms(200));
        rtt.sample(ms(60), ms(0), ms(300));
        assert_eq!((rtt.min(), rtt.latest, rtt.first_sample), (ms(40), ms(60), Some(ms(100))));
        assert_eq!(rtt.persistent(), rtt.probe_timeout() * 3);
        let mut rtt = Rtt::default();
        rtt.sample(Duration::ZERO, ms(0), ms(100));
        assert_eq!(rtt.loss_delay(), GRANULARITY);
        // A sample that is longer by exactly the delay.
        let mut rtt = Rtt::default();
        rtt.sample(ms(80), ms(0), ms(100));
        rtt.sample(ms(81), ms(1), ms(200));
        assert_eq!(rtt.smoothed(), ms(80));
    }
}
