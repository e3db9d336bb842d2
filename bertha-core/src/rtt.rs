//! The round-trip time of a path, smoothed, without I/O (RFC 6298, section 2; RFC 9002, section 5.3).

use std::time::Duration;

/// The smoothed round-trip time, and its mean variation.
///
/// The caller decides which round trips count. It takes about one sample for each round trip, since the gains
/// of the averages assume that: with a sample from every reply of a window, the averages forget within a
/// fraction of a round trip, and each slow drift looks like a loss. Replies to repeated requests are no samples
/// (Karn's rule), since such a reply does not say which attempt it answers.
///
/// ```
/// use bertha_core::rtt::RttEstimator;
/// use std::time::Duration;
///
/// let mut rtt = RttEstimator::default();
/// assert_eq!(rtt.timeout(Duration::from_millis(1)), None);
/// rtt.sample(Duration::from_millis(8));
/// assert_eq!(rtt.timeout(Duration::from_millis(1)), Some(Duration::from_millis(8 + 4 * 4)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RttEstimator {
    /// Both averages, from the first sample on.
    averages: Option<Averages>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Averages {
    smoothed: Duration,
    variation: Duration,
}

impl RttEstimator {
    /// Records a round trip that took `rtt`.
    pub fn sample(&mut self, rtt: Duration) {
        self.averages = Some(match self.averages {
            None => Averages { smoothed: rtt, variation: rtt / 2 },
            Some(Averages { smoothed, variation }) => Averages {
                smoothed: (smoothed * 7 + rtt) / 8,
                variation: (variation * 3 + smoothed.abs_diff(rtt)) / 4,
            },
        });
    }

    /// Returns the smoothed round-trip time, or `None` before the first sample.
    pub fn smoothed(&self) -> Option<Duration> {
        self.averages.map(|averages| averages.smoothed)
    }

    /// Returns the mean variation of the round-trip time, or `None` before the first sample.
    pub fn variation(&self) -> Option<Duration> {
        self.averages.map(|averages| averages.variation)
    }

    /// Returns the time after which a reply is overdue: the smoothed round trip and four variations, at least
    /// `min`, beyond it. `None` before the first sample: both RFCs then have a value of their own.
    pub fn timeout(&self, min: Duration) -> Option<Duration> {
        self.averages.map(|averages| averages.smoothed + min.max(averages.variation * 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn samples_are_smoothed_as_the_rfcs_say() {
        let mut rtt = RttEstimator::default();
        assert_eq!((rtt.smoothed(), rtt.timeout(MS)), (None, None));
        rtt.sample(8 * MS);
        assert_eq!((rtt.smoothed(), rtt.timeout(MS)), (Some(8 * MS), Some(24 * MS)));
        // The variation is (3 * 4 + |8 - 16|) / 4 = 5, the smoothed time (7 * 8 + 16) / 8 = 9.
        rtt.sample(16 * MS);
        assert_eq!((rtt.smoothed(), rtt.timeout(MS)), (Some(9 * MS), Some(29 * MS)));
        assert_eq!(rtt.variation(), Some(5 * MS));
    }

    #[test]
    fn a_path_without_variation_leaves_the_minimum() {
        let mut rtt = RttEstimator::default();
        (0..200).for_each(|_| rtt.sample(8 * MS));
        assert_eq!(rtt.timeout(MS), Some(9 * MS));
    }
}
