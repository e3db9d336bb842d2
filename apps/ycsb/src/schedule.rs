//! The intended send times of operations.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

/// The rule for the start of the next operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Operations begin as soon as fewer than this number are in flight on the connection.
    Closed {
        /// Number of operations in flight per connection.
        in_flight: usize,
    },
    /// Operations begin at times that are fixed in advance, whether earlier operations have been answered or
    /// not.
    Open {
        /// Operations per second over all connections together.
        rate: f64,
        /// Spacing of the times.
        arrivals: Arrivals,
    },
}

/// The spacing of the intended send times of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// The times are evenly spaced.
    Constant,
    /// The gaps are exponentially distributed, as the gaps of many independent users.
    Poisson,
}

/// The intended send times of a connection in an open loop.
#[derive(Clone, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    /// Average seconds between two operations.
    gap: f64,
    /// Seconds until the first operation; for Poisson arrivals, until the latest drawn operation.
    origin: f64,
    /// Number of operations since `origin`.
    since: u64,
}

impl Schedule {
    /// Returns the share of connection `part` of `parts` in `rate` operations per second. Connections take
    /// turns, so that evenly spaced operations are evenly spaced over all connections together.
    pub fn part(rate: f64, arrivals: Arrivals, part: usize, parts: usize, rng: &mut StdRng) -> Self {
        let mut schedule =
            Self { arrivals, gap: parts.max(1) as f64 / rate, origin: part as f64 / rate, since: 0 };
        if arrivals == Arrivals::Poisson {
            schedule.origin = 0.0;
            schedule.advance(rng);
        }
        schedule
    }

    /// Returns the intended time of the next operation, from the start of the phase.
    pub fn next(&self) -> Duration {
        // A product avoids the rounding errors that a running sum builds up over millions of operations.
        let seconds = self.origin + self.since as f64 * self.gap;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Returns the number of operations from the next on that are intended at `end` or before; with Poisson
    /// arrivals, their average number.
    pub fn due_by(&self, end: Duration) -> u64 {
        match end.checked_sub(self.next()) {
            Some(ahead) => (ahead.as_secs_f64() / self.gap) as u64 + 1,
            None => 0,
        }
    }

    /// Advances to the following operation.
    pub fn advance(&mut self, rng: &mut StdRng) {
        match self.arrivals {
            Arrivals::Constant => self.since += 1,
            // 1 - u lies above 0, where the logarithm is finite.
            Arrivals::Poisson => self.origin -= (1.0 - rng.random::<f64>()).ln() * self.gap,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn times(arrivals: Arrivals, part: usize, parts: usize, count: usize) -> Vec<Duration> {
        let mut rng = StdRng::seed_from_u64(part as u64);
        let mut schedule = Schedule::part(1000.0, arrivals, part, parts, &mut rng);
        let mut next = || {
            let time = schedule.next();
            schedule.advance(&mut rng);
            time
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn connections_take_turns() {
        let mut all: Vec<_> = (0..4).flat_map(|part| times(Arrivals::Constant, part, 4, 5)).collect();
        all.sort();
        let expected: Vec<_> = (0..20).map(Duration::from_millis).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn counts_what_is_due() {
        let mut rng = StdRng::seed_from_u64(0);
        let mut schedule = Schedule::part(1000.0, Arrivals::Constant, 1, 2, &mut rng);
        let due = |schedule: &Schedule, micros| schedule.due_by(Duration::from_micros(micros));
        assert_eq!([500, 1500, 3500, 5500].map(|micros| due(&schedule, micros)), [0, 1, 2, 3]);
        schedule.advance(&mut rng);
        assert_eq!(due(&schedule, 5500), 2);
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let times = times(Arrivals::Poisson, 0, 2, 20_000);
        assert!(times.is_sorted());
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 0.002).abs() < 0.000_06, "{mean}");
        gaps.sort_by(f64::total_cmp);
        // The median of an exponential distribution is ln 2 of its mean.
        let median = gaps[gaps.len() / 2];
        assert!((median / mean - std::f64::consts::LN_2).abs() < 0.03, "{median}");
    }
}
