//! Counts and latencies of operations.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::outstanding::{Finished, Outcome};
use crate::workload::Kind;

/// Longest latency that is recorded, in nanoseconds; longer latencies count as this.
const LONGEST: Duration = Duration::from_secs(600);

/// Number of significant digits: a latency is off by at most 0.1 %.
const DIGITS: u8 = 3;

/// The outcomes of a set of operations.
#[derive(Clone, Debug)]
pub struct Tally {
    latency: Histogram<u64>,
    /// Number of operations that were completed.
    pub completed: u64,
    /// Number of operations that were answered with "no such record".
    pub missing: u64,
    /// Number of operations that were refused.
    pub refused: u64,
    /// Number of operations that were not answered in time.
    pub given_up: u64,
    /// Number of records that scans have read.
    pub scanned: u64,
}

impl Default for Tally {
    fn default() -> Self {
        let longest = u64::try_from(LONGEST.as_nanos()).unwrap_or(u64::MAX);
        let latency =
            Histogram::new_with_bounds(1, longest, DIGITS).unwrap_or_else(|_| unreachable!("valid bounds"));
        Self { latency, completed: 0, missing: 0, refused: 0, given_up: 0, scanned: 0 }
    }
}

impl Tally {
    /// Counts an operation. The latency of an operation that was given up reflects the patience of the
    /// client, not the speed of the store, so it is left out of the latencies.
    pub fn record(&mut self, finished: &Finished) {
        self.scanned += finished.scanned;
        match finished.outcome {
            Outcome::Completed => self.completed += 1,
            Outcome::Missing => self.missing += 1,
            Outcome::Refused(_) => self.refused += 1,
            Outcome::GivenUp => {
                self.given_up += 1;
                return;
            }
        }
        self.latency.saturating_record(u64::try_from(finished.latency.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        // Both histograms have equal bounds, so the call can't fail.
        let _ = self.latency.add(&other.latency);
        self.completed += other.completed;
        self.missing += other.missing;
        self.refused += other.refused;
        self.given_up += other.given_up;
        self.scanned += other.scanned;
    }

    /// Returns the number of all operations that ended in any way.
    pub fn total(&self) -> u64 {
        self.answered() + self.given_up
    }

    /// Returns the number of answered operations, which have latencies.
    pub fn answered(&self) -> u64 {
        self.completed + self.missing + self.refused
    }

    /// Returns the latency that this many per cent of the answered operations do not exceed; zero if there
    /// are none.
    pub fn percentile(&self, per_cent: f64) -> Duration {
        Duration::from_nanos(self.latency.value_at_percentile(per_cent))
    }

    /// Returns the longest latency; zero if there is none.
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.latency.max())
    }
}

/// A [`Tally`] for each kind of operation.
#[derive(Clone, Debug, Default)]
pub struct Measurements(BTreeMap<Kind, Tally>);

impl Measurements {
    /// Counts an operation.
    pub fn record(&mut self, finished: &Finished) {
        self.0.entry(finished.kind).or_default().record(finished);
    }

    /// Adds the measurements of another connection.
    pub fn merge(&mut self, other: &Self) {
        for (kind, tally) in &other.0 {
            self.0.entry(*kind).or_default().merge(tally);
        }
    }

    /// Returns the kinds that occurred.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, &Tally)> {
        self.0.iter().map(|(kind, tally)| (*kind, tally))
    }

    /// Returns the sum of all kinds.
    pub fn total(&self) -> Tally {
        self.0.values().fold(Tally::default(), |mut total, tally| {
            total.merge(tally);
            total
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(kind: Kind, micros: u64, outcome: Outcome) -> Finished {
        Finished { kind, inserts: None, latency: Duration::from_micros(micros), outcome, scanned: 2 }
    }

    #[test]
    fn merging_equals_measuring_together() {
        let (mut a, mut b, mut both) =
            (Measurements::default(), Measurements::default(), Measurements::default());
        for micros in 1..=1000 {
            let kind = if micros % 3 == 0 { Kind::Update } else { Kind::Read };
            let end = finished(kind, micros, Outcome::Completed);
            if micros % 2 == 0 {
                a.record(&end)
            } else {
                b.record(&end)
            }
            both.record(&end);
        }
        a.merge(&b);
        for per_cent in [5.0, 50.0, 95.0, 99.0] {
            assert_eq!(a.total().percentile(per_cent), both.total().percentile(per_cent));
            let micros = a.total().percentile(per_cent).as_secs_f64() * 1e6;
            assert!((micros / (per_cent * 10.0) - 1.0).abs() < 0.002, "{per_cent}: {micros}");
        }
        assert_eq!(
            a.kinds().map(|(kind, tally)| (kind, tally.total())).collect::<Vec<_>>(),
            [(Kind::Read, 667), (Kind::Update, 333)]
        );
        assert_eq!(a.total().scanned, 2000);
    }

    #[test]
    fn what_was_given_up_is_counted_and_has_no_latency() {
        let mut tally = Tally::default();
        tally.record(&finished(Kind::Read, 50, Outcome::Missing));
        tally.record(&finished(Kind::Read, 1_000_000, Outcome::GivenUp));
        assert_eq!((tally.total(), tally.answered(), tally.missing, tally.given_up), (2, 1, 1, 1));
        assert!(tally.longest() < Duration::from_millis(1));
    }
}
