//! The pauses before dropped messages are given back, without a clock.

use std::time::Duration;

/// A pause that doubles with each message that is dropped, until a message is done. So a receiver that fails at
/// every message neither keeps the service busy, nor makes it put the messages aside within a moment.
#[derive(Debug)]
pub(super) struct Pauses {
    first: Duration,
    longest: Duration,
    next: Duration,
    pause: Duration,
    failures: u64,
}

impl Pauses {
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        let first = first.min(longest);
        Self { first, longest, next: first, pause: first, failures: 0 }
    }

    /// Records that a message was dropped; returns the number of messages that were dropped before.
    pub(super) fn has_failed(&mut self) -> u64 {
        self.pause = self.next;
        self.next = self.next.saturating_mul(2).min(self.longest);
        self.failures += 1;
        self.failures - 1
    }

    /// Records that a message is done.
    pub(super) fn has_succeeded(&mut self) {
        self.next = self.first;
    }

    /// Returns the pause of the message that was dropped last.
    pub(super) fn pause(&self) -> Duration {
        self.pause
    }
}
