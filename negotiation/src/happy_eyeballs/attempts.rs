//! The order and times of attempts, without I/O: RFC 8305 ("Happy Eyeballs"), sections 4 and 5. An attempt is told from others by a
//! label `L`: an address of a name, or an alternative of a [`Fallback`](crate::Fallback).

use bertha_core::{Addr, Error, ErrorKind, MAX_ADDRESSES};
use std::collections::VecDeque;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Time between the beginnings of two attempts, if the earlier attempt has not failed by then; recommended by
/// section 5.
pub(crate) const DELAY: Duration = Duration::from_millis(250);

/// Number of failures that an error lists.
const TOLD: usize = 8;

/// Attempts of which the first successful one counts: those that wait, and the failures of earlier ones.
#[derive(Debug)]
pub(crate) struct Attempts<L> {
    /// What is attempted, for errors: an `address of` a name, say.
    what: String,
    waiting: VecDeque<L>,
    delay: Duration,
    /// The time from which the next attempt may begin.
    next: Instant,
    under_way: usize,
    failures: Vec<(L, Error)>,
}

impl Attempts<Addr> {
    /// Makes attempts at the `addresses` of `name`, in order of preference but with address families in turn, so that a family that
    /// does not work costs one delay.
    pub(super) fn at(name: &str, addresses: Vec<Addr>, now: Instant) -> Self {
        Self::new(format!("address of `{name}`"), interleaved(addresses), DELAY, now)
    }
}

impl<L: Display> Attempts<L> {
    /// Makes attempts in this order, each `delay` after the one before unless that has failed.
    pub(crate) fn new(what: String, waiting: VecDeque<L>, delay: Duration, now: Instant) -> Self {
        Self { what, waiting, delay, next: now, under_way: 0, failures: Vec::new() }
    }

    /// Returns the number of attempts that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the attempt that is to begin now.
    pub(super) fn poll_begin(&mut self, now: Instant) -> Option<L> {
        if now < self.next {
            return None;
        }
        let label = self.waiting.pop_front()?;
        self.under_way += 1;
        self.next = now + self.delay;
        Some(label)
    }

    /// Returns the time of the next attempt.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.next)
    }

    /// Records that an attempt has failed: the next attempt begins at once.
    pub(super) fn failed(&mut self, label: L, error: Error, now: Instant) {
        self.under_way -= 1;
        self.failures.push((label, error));
        self.next = now;
    }

    /// Returns the attempts that have failed, in the order of their failures.
    pub(crate) fn failures(&self) -> &[(L, Error)] {
        &self.failures
    }

    /// Returns the error of attempts that have all failed.
    pub(super) fn into_error(self) -> Error {
        let kind = self.failures.first().map_or(ErrorKind::Unreachable, |(_, error)| error.kind());
        self.error(kind)
    }

    /// Returns the error of attempts for which no time is left.
    pub(super) fn into_timeout(self) -> Error {
        self.error(ErrorKind::TimedOut)
    }

    /// Returns the error of an end that answered, if any answered; else an error of kind `silent`.
    fn error(self, silent: ErrorKind) -> Error {
        let is_telling = |kind: &ErrorKind| !matches!(kind, ErrorKind::Unreachable | ErrorKind::TimedOut);
        let mut kinds = self.failures.iter().map(|(_, error)| error.kind());
        let kind = kinds.find(is_telling).unwrap_or(silent);
        let Self { what, waiting, under_way, failures, .. } = self;
        let mut what = format!("no {what} could be connected to: ");
        let told = failures.len().min(TOLD);
        let mut parts: Vec<_> =
            failures[..told].iter().map(|(label, error)| format!("{label}: {error}")).collect();
        for (number, state) in [
            (failures.len() - told, "more failed"),
            (under_way, "did not answer in time"),
            (waiting.len(), "not tried"),
        ] {
            if number > 0 {
                parts.push(format!("{number} {state}"));
            }
        }
        if parts.is_empty() {
            parts.push("it has none".into());
        }
        what.push_str(&parts.join("; "));
        Error::new(kind, what).at("negotiation")
    }
}

#[derive(PartialEq)]
enum Family {
    V4,
    V6,
    Local,
}

fn family(addr: &Addr) -> Family {
    match addr {
        Addr::Ip(ip) if ip.is_ipv4() => Family::V4,
        Addr::Ip(_) => Family::V6,
        _ => Family::Local,
    }
}

/// Returns each address once, with families in turn, beginning with the family of the first.
fn interleaved(addresses: Vec<Addr>) -> VecDeque<Addr> {
    let mut families: Vec<(Family, VecDeque<Addr>)> = Vec::new();
    for addr in addresses.into_iter().take(MAX_ADDRESSES) {
        let of = family(&addr);
        match families.iter_mut().find(|(family, _)| *family == of) {
            Some((_, same)) if same.contains(&addr) => {}
            Some((_, same)) => same.push_back(addr),
            None => families.push((of, [addr].into())),
        }
    }
    let mut order = VecDeque::new();
    while families.iter().any(|(_, same)| !same.is_empty()) {
        order.extend(families.iter_mut().filter_map(|(_, same)| same.pop_front()));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> Addr {
        text.parse().unwrap()
    }

    fn attempts(addresses: &[&str], now: Instant) -> Attempts<Addr> {
        Attempts::at("store:1", addresses.iter().map(|text| addr(text)).collect(), now)
    }

    fn unreachable() -> Error {
        Error::new(ErrorKind::Unreachable, "nobody there")
    }

    #[test]
    fn families_take_turns_and_keep_their_order() {
        let start = Instant::now();
        let mut attempts = attempts(
            &["[::1]:1", "[::2]:1", "[::3]:1", "10.0.0.1:1", "[::2]:1", "unix:/a", "10.0.0.2:1"],
            start,
        );
        let mut order = Vec::new();
        let mut now = start;
        while let Some(addr) = attempts.poll_begin(now) {
            order.push(addr.to_string());
            now += DELAY;
        }
        assert_eq!(order, ["[::1]:1", "10.0.0.1:1", "unix:/a", "[::2]:1", "10.0.0.2:1", "[::3]:1"]);
    }

    #[test]
    fn an_attempt_that_does_not_fail_has_a_quarter_of_a_second_for_itself() {
        let start = Instant::now();
        let mut attempts = attempts(&["[::1]:1", "10.0.0.1:1"], start);
        assert_eq!(attempts.poll_begin(start), Some(addr("[::1]:1")));
        assert_eq!(attempts.poll_timeout(), Some(start + DELAY));
        assert_eq!(attempts.poll_begin(start + DELAY - Duration::from_nanos(1)), None);
        assert_eq!(attempts.poll_begin(start + DELAY), Some(addr("10.0.0.1:1")));
        assert_eq!((attempts.poll_timeout(), attempts.poll_begin(start + 9 * DELAY)), (None, None));
    }

    #[test]
    fn after_a_failure_the_next_attempt_begins_at_once() {
        let start = Instant::now();
        let mut attempts = attempts(&["[::1]:1", "10.0.0.1:1"], start);
        let first = attempts.poll_begin(start).unwrap();
        let now = start + Duration::from_millis(1);
        attempts.failed(first, unreachable(), now);
        assert_eq!(attempts.poll_timeout(), Some(now));
        assert_eq!(attempts.poll_begin(now), Some(addr("10.0.0.1:1")));
    }

    #[test]
    fn the_error_tells_all_failures_and_has_the_kind_of_an_end_that_answered() {
        let start = Instant::now();
        let mut attempts = attempts(&["[::1]:1", "10.0.0.1:1"], start);
        let first = attempts.poll_begin(start).unwrap();
        attempts.failed(first, unreachable(), start);
        let second = attempts.poll_begin(start).unwrap();
        attempts.failed(second, Error::new(ErrorKind::Refused, "another stack"), start);
        let error = attempts.into_error();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(
            error.context(),
            "no address of `store:1` could be connected to: [::1]:1: unreachable: nobody there; \
             10.0.0.1:1: refused: another stack"
        );
    }

    #[test]
    fn the_error_stays_short_with_many_addresses_and_none() {
        let start = Instant::now();
        let many: Vec<_> = (1..=99).map(|port| Addr::from(([10, 0, 0, 1], port))).collect();
        let mut attempts = Attempts::at("store:1", many, start);
        assert_eq!(attempts.waiting(), MAX_ADDRESSES);
        for _ in 0..10 {
            let addr = attempts.poll_begin(start).unwrap();
            attempts.failed(addr, unreachable(), start);
        }
        attempts.poll_begin(start).unwrap();
        let error = attempts.into_timeout();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(
            error.context().ends_with("2 more failed; 1 did not answer in time; 53 not tried"),
            "{error}"
        );
        let none = Attempts::at("store:1", Vec::new(), start).into_error();
        assert_eq!(none.kind(), ErrorKind::Unreachable);
        assert_eq!(none.context(), "no address of `store:1` could be connected to: it has none");
    }
}
