//! Calls and their outcomes, as callers and servers tell of them.

use bertha_chunnels::rpc::Failure;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The knowledge of calls, by the numbers that their callers give them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    calls: HashMap<u64, Known>,
}

#[derive(Debug, Default)]
struct Known {
    made: u32,
    ran: u32,
    outcomes: Vec<String>,
}

/// The outcomes of a call.
const ANSWERED: &str = "answered";
const NOT_RUN: &str = "not-run";
const MAY_HAVE_RUN: &str = "may-have-run";

impl Ledger {
    /// Notes what a line tells. Other lines are those of the program that runs tests.
    pub(super) fn note(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let (what, number) = (words.next(), words.next().and_then(|number| number.parse().ok()));
        let (Some(what), Some(number)) = (what, number) else { return };
        if !["made", "ran", "ended"].contains(&what) {
            return;
        }
        let known = self.calls.entry(number).or_default();
        match what {
            "made" => known.made += 1,
            "ran" => known.ran += 1,
            _ => known.outcomes.extend(words.next().map(str::to_owned)),
        }
    }

    /// Checks that each call ran at most once and had one outcome that is true; a caller that was killed may have heard of none. Forgets the
    /// calls of which nothing more may be told, and returns the number of those that were answered.
    pub(super) fn check(&mut self, was_killed: impl Fn(u64) -> bool) -> usize {
        let mut answered = 0;
        self.calls.retain(|number, known| {
            let outcomes: Vec<_> = known.outcomes.iter().map(String::as_str).collect();
            let is_right = match (&outcomes[..], known.ran) {
                (&[ANSWERED], 1) | (&[NOT_RUN], 0) | (&[MAY_HAVE_RUN], 0 | 1) => true,
                (&[], 0 | 1) => was_killed(*number),
                _ => false,
            };
            assert!(known.made == 1 && is_right, "call {number}: {known:?}");
            answered += usize::from(outcomes == [ANSWERED]);
            outcomes.is_empty() || outcomes == [MAY_HAVE_RUN]
        });
        answered
    }
}

/// Returns the line that tells of an outcome.
pub(super) fn ended<R>(number: u64, outcome: &Result<R, Failure>) -> String {
    let outcome = match outcome {
        Ok(_) => ANSWERED,
        Err(failure) if failure.may_have_run() => MAY_HAVE_RUN,
        Err(_) => NOT_RUN,
    };
    format!("ended {number} {outcome}")
}

#[test]
fn calls_have_one_true_outcome() {
    let holds = |lines: &[&str]| {
        let mut ledger = Ledger::default();
        lines.iter().for_each(|line| ledger.note(line));
        catch_unwind(AssertUnwindSafe(|| ledger.check(|number| number == 9))).ok()
    };
    assert_eq!(holds(&["running 1 test", "made 1", "ran 1", "ended 1 answered"]), Some(1));
    assert_eq!(holds(&["made 1", "ended 1 not-run", "made 2", "ended 2 may-have-run", "made 9"]), Some(0));
    for wrong in [
        &["made 1"][..],
        &["made 1", "ended 1 answered"],
        &["made 1", "ran 1", "ran 1", "ended 1 answered"],
        &["made 1", "ran 1", "ended 1 not-run"],
        &["made 1", "ran 1", "ended 1 answered", "ended 1 may-have-run"],
        &["made 9", "ran 9", "ran 9"],
        &["ran 9"],
    ] {
        assert_eq!(holds(wrong), None, "{wrong:?}");
    }
}
