//! The steps of a shutdown at one connection, without I/O.

use std::time::{Duration, Instant};

/// The time for the last answers, and for the close, once the grace is over.
pub(super) const CLOSING: Duration = Duration::from_secs(1);

/// How far the shutdown of a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    /// Calls are taken.
    No,
    /// Calls are refused, and calls under way go on until this time.
    Until(Instant),
    /// Calls under way were cancelled, and their clients are told until this time.
    Telling(Instant),
    /// Nothing more is sent.
    Over,
}

impl Leaving {
    /// Begins, with this time for calls under way; a grace beyond the clock is without end.
    pub(super) fn begin(&mut self, now: Instant, grace: Duration) {
        // As long as a clock goes on for certain.
        const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
        *self = Self::Until(now + grace.min(LONGEST));
    }

    pub(super) fn has_begun(self) -> bool {
        self != Self::No
    }

    /// Returns the time of the next step.
    pub(super) fn next(self) -> Option<Instant> {
        match self {
            Self::Until(time) | Self::Telling(time) => Some(time),
            Self::No | Self::Over => None,
        }
    }

    /// Takes the step that is due. Returns true if calls under way are to be cancelled now.
    pub(super) fn advance(&mut self, now: Instant) -> bool {
        match *self {
            Self::Until(time) if now >= time => {
                *self = Self::Telling(now + CLOSING);
                true
            }
            Self::Telling(time) if now >= time => {
                *self = Self::Over;
                false
            }
            _ => false,
        }
    }

    /// Returns true if the connection is to be closed, once nothing `is_left` to be sent.
    pub(super) fn is_over(self, is_left: bool) -> bool {
        match self {
            Self::No | Self::Until(_) => false,
            Self::Telling(_) => !is_left,
            Self::Over => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_comes_in_its_time() {
        let start = Instant::now();
        let mut leaving = Leaving::No;
        assert!(!leaving.has_begun() && !leaving.advance(start) && leaving.next().is_none());
        leaving.begin(start, Duration::from_secs(5));
        let end = start + Duration::from_secs(5);
        assert_eq!((leaving.has_begun(), leaving.next()), (true, Some(end)));
        assert!(!leaving.advance(start) && !leaving.is_over(false));
        assert!(leaving.advance(end) && !leaving.advance(end));
        assert_eq!((leaving.is_over(true), leaving.is_over(false)), (false, true));
        assert_eq!(leaving.next(), Some(end + CLOSING));
        assert!(!leaving.advance(end + CLOSING) && leaving.is_over(true) && leaving.has_begun());
        leaving.begin(start, Duration::MAX);
        assert!(leaving.next().is_some_and(|time| time > end));
    }
}
