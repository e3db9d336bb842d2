//! The messages whose deadline has to be extended, without clock and I/O.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The messages that the application holds.
#[derive(Debug)]
pub(crate) struct Leases {
    held: HashMap<String, Lease>,
    /// Age of a deadline at which it is extended.
    period: Duration,
    /// Time for which deadlines are extended.
    longest: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Lease {
    since: Instant,
    extended: Instant,
}

impl Leases {
    /// Creates an empty table for messages whose deadline is `deadline` after the call that delivered them.
    pub(crate) fn new(deadline: Duration, longest: Duration) -> Self {
        Self { held: HashMap::new(), period: deadline / 3, longest }
    }

    /// Returns the interval between two looks for [`due`](Self::due) messages.
    pub(crate) fn period(&self) -> Duration {
        self.period
    }

    /// Adds a delivered message.
    pub(crate) fn begin(&mut self, id: &str, now: Instant) {
        if !self.longest.is_zero() {
            self.held.insert(id.into(), Lease { since: now, extended: now });
        }
    }

    /// Removes a message that is acknowledged or given back.
    pub(crate) fn end(&mut self, id: &str) {
        self.held.remove(id);
    }

    /// Returns the messages whose deadline has to be extended now. Messages that were held for the longest
    /// permitted time are removed.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<String> {
        self.held.retain(|_, lease| now.duration_since(lease.since) < self.longest);
        let period = self.period;
        let due = self.held.iter_mut().filter(|(_, lease)| now.duration_since(lease.extended) >= period);
        due.map(|(id, lease)| {
            lease.extended = now;
            id.clone()
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn leases() -> (Leases, Instant) {
        let now = Instant::now();
        let mut leases = Leases::new(30 * SECOND, 60 * SECOND);
        leases.begin("a", now);
        (leases, now)
    }

    #[test]
    fn a_message_is_due_each_third_of_its_deadline() {
        let (mut leases, start) = leases();
        assert!(leases.due(start + 9 * SECOND).is_empty());
        assert_eq!(leases.due(start + 10 * SECOND), ["a"]);
        assert!(leases.due(start + 19 * SECOND).is_empty());
        assert_eq!(leases.due(start + 20 * SECOND), ["a"]);
    }

    #[test]
    fn what_is_let_go_of_is_not_due() {
        let (mut leases, start) = leases();
        leases.end("a");
        assert!(leases.due(start + 20 * SECOND).is_empty());
    }

    #[test]
    fn nothing_is_held_for_ever() {
        let (mut leases, start) = leases();
        assert_eq!(leases.due(start + 59 * SECOND), ["a"]);
        assert!(leases.due(start + 60 * SECOND).is_empty());
        assert!(leases.held.is_empty());
    }
}
