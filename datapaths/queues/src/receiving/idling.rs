//! The pauses between looks into an empty queue, without a clock.

use std::time::Duration;

/// The first pause.
const FIRST: Duration = Duration::from_millis(10);

/// The pauses for a service that answers at once that there is nothing, although it was asked to wait.
#[derive(Debug)]
pub(super) struct Idling {
    next: Duration,
    longest: Duration,
}

impl Idling {
    pub(super) fn new(longest: Duration) -> Self {
        Self { next: FIRST.min(longest), longest }
    }

    /// Records that there were messages.
    pub(super) fn reset(&mut self) {
        self.next = FIRST.min(self.longest);
    }

    /// Records that there were no messages after `waited`, where up to `wait` was asked for. Returns the
    /// pause before the next look.
    pub(super) fn pause(&mut self, waited: Duration, wait: Duration) -> Duration {
        if waited >= wait / 2 {
            // The service itself waits.
            self.reset();
            return Duration::ZERO;
        }
        let pause = self.next;
        self.next = (2 * pause).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_service_that_waits_is_asked_again_at_once() {
        let mut idling = Idling::new(500 * MS);
        assert_eq!(idling.pause(20_000 * MS, 20_000 * MS), Duration::ZERO);
    }

    #[test]
    fn pauses_double_until_there_is_a_message() {
        let mut idling = Idling::new(35 * MS);
        let mut pause = || idling.pause(MS, 20_000 * MS);
        assert_eq!([pause(), pause(), pause(), pause()], [10 * MS, 20 * MS, 35 * MS, 35 * MS]);
        idling.reset();
        assert_eq!(idling.pause(MS, 20_000 * MS), 10 * MS);
    }
}
