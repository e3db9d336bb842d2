//! Instructions of engines per call, and of plans against prost.

mod engines;
mod hotel;
mod messages;

use crate::Error;
use crate::harness::{Counter, Effort};
use crate::report::Report;

/// Counts the rows.
///
/// # Errors
/// Errors of the counter.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    instructions(report, effort.pick(6_400, 1_280))
}

/// Counts the rows by probes of so many calls.
///
/// # Errors
/// Errors of the counter.
pub(crate) fn instructions(report: &mut Report, calls: u64) -> Result<(), Error> {
    engines::instructions(report, calls)?;
    messages::instructions(report, calls)
}

/// Returns the instructions of a probe per iteration.
fn count(probe: &str, iterations: u64) -> Result<f64, Error> {
    Counter::of_probe(format!("managed-{probe}"))?.instructions(iterations)
}

/// Runs a probe, such as `engine-null-64` or `plan-decode-bytes`, if there is a probe with this name.
pub(crate) fn probe(name: &str, iterations: u64) -> Option<Result<(), Error>> {
    match name.split_once('-')? {
        ("engine", rest) => engines::probe(rest, iterations),
        (by @ ("plan" | "prost"), rest) => messages::probe(by, rest, iterations),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_runs() {
        for engine in ["none", "null", "limit"] {
            for burst in [1, 64] {
                probe(&format!("engine-{engine}-{burst}"), 128).unwrap().unwrap();
            }
        }
        for work in messages::WORKS {
            for by in ["plan", "prost"] {
                probe(&format!("{by}-{work}"), 2).unwrap().unwrap();
            }
        }
        for none in ["engine-null", "engine-null-0", "engine-other-1", "plan-encode-other", "other"] {
            assert!(probe(none, 1).is_none(), "{none}");
        }
    }
}
