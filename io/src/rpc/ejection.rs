//! The decision to take out an address, without I/O.

use bertha_core::backoff::Backoff;
use std::time::{Duration, Instant};

/// Number of failures in a row after which an address is taken out.
const FAILURES: u32 = 5;

/// The bounds of the time for which an address is out.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// The failures of one address.
#[derive(Debug)]
pub(super) struct Ejection {
    failures: u32,
    out_until: Option<Instant>,
    backoff: Backoff,
}

impl Ejection {
    pub(super) fn new() -> Self {
        Self { failures: 0, out_until: None, backoff: Backoff::new(FIRST, LONGEST) }
    }

    /// Returns the time until which the address is out, if it is.
    pub(super) fn out_until(&mut self, now: Instant) -> Option<Instant> {
        self.out_until = self.out_until.filter(|until| *until > now);
        self.out_until
    }

    pub(super) fn on_success(&mut self) {
        self.failures = 0;
        self.backoff.reset();
    }

    /// Records a call that failed because of the address. After the address is back, one further failure is
    /// enough.
    pub(super) fn on_failure(&mut self, now: Instant, random: u64) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURES && self.out_until.is_none() {
            // The address is never back at once, whatever the random number is.
            self.out_until = now.checked_add(FIRST / 2 + self.backoff.pause(random));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_take_an_address_out_for_longer_and_longer() {
        let mut ejection = Ejection::new();
        let mut now = Instant::now();
        for _ in 0..FAILURES - 1 {
            ejection.on_failure(now, u64::MAX);
        }
        ejection.on_success();
        for _ in 0..FAILURES - 1 {
            ejection.on_failure(now, u64::MAX);
        }
        assert_eq!(ejection.out_until(now), None);
        ejection.on_failure(now, u64::MAX);
        assert_eq!(ejection.out_until(now), Some(now + FIRST * 3 / 2));
        // The calls were under way.
        ejection.on_failure(now, u64::MAX);
        now += FIRST * 3 / 2;
        assert_eq!(ejection.out_until(now), None);
        ejection.on_failure(now, u64::MAX);
        assert_eq!(ejection.out_until(now).unwrap() - now, FIRST * 5 / 2);
        now += FIRST * 5 / 2;
        assert_eq!(ejection.out_until(now), None);
        ejection.on_success();
        ejection.on_failure(now, u64::MAX);
        assert_eq!(ejection.out_until(now), None);
    }
}
