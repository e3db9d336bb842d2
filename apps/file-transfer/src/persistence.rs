//! The time for which a sender goes on connecting.

use std::time::{Duration, Instant};

/// First pause before connecting again.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// Longest pause before connecting again.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The decision after each failed connection about another connection, and about the pause before it.
///
/// The time runs while nothing more of the file gets through: it begins again when the receiver has more of
/// the file than ever before, or when a connection broke that had taken more. A refusing receiver has
/// discarded the part that the last connection took, so after a refusal only its own report counts.
#[derive(Debug)]
pub(crate) struct Persistence {
    limit: Duration,
    deadline: Instant,
    pause: Duration,
    /// Largest number of bytes that the receiver reported to have.
    confirmed: Option<u64>,
    /// Largest number of bytes that any connection had taken when it broke.
    taken: u64,
}

/// A connection that failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure {
    /// Number of bytes that the receiver reported to have, if it reported.
    pub(crate) confirmed: Option<u64>,
    /// Position in the file, in bytes, up to which the connection had taken it.
    pub(crate) taken: u64,
    /// True if the receiver refused the file.
    pub(crate) is_refusal: bool,
}

impl Persistence {
    /// Creates the decision that gives up once nothing gets through for `limit`.
    pub(crate) fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, deadline: now + limit, pause: MIN_PAUSE, confirmed: None, taken: 0 }
    }

    /// Returns the pause before the next connection; `None` if the sender has to give up.
    pub(crate) fn failed(&mut self, failure: Failure, now: Instant) -> Option<Duration> {
        let has_broken_later = !failure.is_refusal && failure.taken > self.taken;
        if failure.confirmed > self.confirmed || has_broken_later {
            (self.deadline, self.pause) = (now + self.limit, MIN_PAUSE);
        }
        self.confirmed = self.confirmed.max(failure.confirmed);
        self.taken = self.taken.max(failure.taken);
        let left = self.deadline.saturating_duration_since(now);
        let pause = self.pause;
        self.pause = (2 * pause).min(MAX_PAUSE);
        // The last connection begins at the end of the time, and not a pause before it.
        (!left.is_zero()).then_some(pause.min(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    /// Returns the time for which connections are made that each take `each` and fail as `failure` says for
    /// the connection's number.
    fn lasts(each: Duration, failure: impl Fn(u64) -> Failure) -> Duration {
        let start = Instant::now();
        let (mut persistence, mut now) = (Persistence::new(LIMIT, start), start);
        for number in 0..1_000 {
            now += each;
            match persistence.failed(failure(number), now) {
                Some(pause) => now += pause,
                None => return now - start,
            }
        }
        panic!("goes on for ever");
    }

    #[test]
    fn a_receiver_without_space_is_given_up_in_time() {
        // Each connection takes some more bytes into its buffers than the previous connection.
        let full = |number: u64| Failure { confirmed: Some(4_000), taken: 8_000 + number, is_refusal: true };
        let each = Duration::from_millis(300);
        assert!(lasts(each, full) <= LIMIT + 2 * each);
    }

    #[test]
    fn a_receiver_that_never_answers_is_given_up_in_time() {
        let silent = |_| Failure { confirmed: None, taken: 0, is_refusal: false };
        assert_eq!(lasts(Duration::ZERO, silent), LIMIT, "neither later nor earlier");
    }

    #[test]
    fn no_time_is_a_single_connection() {
        let now = Instant::now();
        let failure = Failure { confirmed: None, taken: 0, is_refusal: false };
        assert_eq!(Persistence::new(Duration::ZERO, now).failed(failure, now), None);
    }

    #[test]
    fn connections_go_on_while_the_file_does() {
        let each = Duration::from_secs(60);
        let breaks = |number: u64| Failure { confirmed: Some(0), taken: number.min(9), is_refusal: false };
        assert!(lasts(each, breaks) > 9 * each);
        let refuses = |number: u64| Failure { confirmed: Some(number.min(9)), taken: 0, is_refusal: true };
        assert!(lasts(each, refuses) > 9 * each);
    }

    #[test]
    fn pauses_grow_up_to_their_bound() {
        let now = Instant::now();
        let mut persistence = Persistence::new(LIMIT, now);
        let failure = Failure { confirmed: None, taken: 0, is_refusal: false };
        let pauses: Vec<_> = (0..6).map(|_| persistence.failed(failure, now).unwrap().as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 2000]);
    }
}
