//! Round-trip times.

use crate::{Error, ErrorKind};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A summary of round trips, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// The 5th percentile.
    pub(crate) p5_us: f64,
    /// The first quartile.
    pub(crate) p25_us: f64,
    /// The median.
    pub(crate) p50_us: f64,
    /// The third quartile.
    pub(crate) p75_us: f64,
    /// The 95th percentile.
    pub(crate) p95_us: f64,
    /// The 99th percentile.
    pub(crate) p99_us: f64,
    /// The longest round trip.
    pub(crate) max_us: f64,
}

/// A recorder of round trips from 1 ns to a minute with three significant digits, in constant memory.
#[derive(Debug)]
pub(crate) struct Recorder(Histogram<u64>);

/// Longest recorded time: slower round trips count as this time.
const LONGEST: Duration = Duration::from_secs(60);

impl Recorder {
    /// Creates an empty recorder.
    ///
    /// # Errors
    /// [`ErrorKind::Report`] when the histogram cannot be built.
    pub(crate) fn new() -> Result<Self, Error> {
        Histogram::new_with_bounds(1, LONGEST.as_nanos() as u64, 3)
            .map(Self)
            .map_err(Error::while_doing(ErrorKind::Report, "building a latency histogram"))
    }

    /// Adds a round trip. A round trip longer than a minute counts as a minute.
    pub(crate) fn record(&mut self, round_trip: Duration) {
        self.0.saturating_record(round_trip.as_nanos() as u64);
    }

    /// Adds the round trips of another recorder.
    #[cfg(feature = "rpc")]
    pub(crate) fn add(&mut self, other: &Self) {
        // Both histograms have equal bounds, so nothing is left out.
        let _ = self.0.add(&other.0);
    }

    /// Returns the number of recorded round trips.
    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Returns the percentiles; zeros when nothing was recorded.
    pub(crate) fn summary(&self) -> Latency {
        let microseconds = |quantile| self.0.value_at_quantile(quantile) as f64 / 1e3;
        Latency {
            p5_us: microseconds(0.05),
            p25_us: microseconds(0.25),
            p50_us: microseconds(0.50),
            p75_us: microseconds(0.75),
            p95_us: microseconds(0.95),
            p99_us: microseconds(0.99),
            max_us: microseconds(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut recorder = Recorder::new().unwrap();
        (1..=1000).for_each(|us| recorder.record(Duration::from_micros(us)));
        let latency = recorder.summary();
        assert!((latency.p50_us - 500.0).abs() <= 0.5, "{latency:?}");
        assert!((latency.p99_us - 990.0).abs() <= 1.0, "{latency:?}");
    }

    #[test]
    fn an_endless_round_trip_counts_as_a_minute() {
        let mut recorder = Recorder::new().unwrap();
        recorder.record(Duration::from_secs(3600));
        assert!((recorder.summary().p50_us / 60e6 - 1.0).abs() < 1e-3);
    }
}
