//! The messages of a client, as they arrive.

use super::Report;
use std::time::{Duration, Instant};

/// Counts of received data.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) late: u64,
    pub(crate) pings: u64,
    /// The data that the client has ordered.
    pub(crate) sent: Report,
    /// Number of messages that belong to neither `perf` nor `ping`.
    pub(crate) foreign: u64,
    next: u64,
    span: Option<(Instant, Instant)>,
}

impl Tally {
    pub(crate) fn on_data(&mut self, number: u64, bytes: usize, now: Instant) {
        self.messages += 1;
        self.bytes += bytes as u64;
        if number < self.next {
            self.late += 1;
        }
        self.next = self.next.max(number.saturating_add(1));
        self.span = Some((self.span.map_or(now, |(first, _)| first), now));
    }

    /// Returns the time from the first message to the last.
    pub(crate) fn elapsed(&self) -> Duration {
        self.span.map_or(Duration::ZERO, |(first, last)| last - first)
    }

    pub(crate) fn report(&self, number: u64) -> Report {
        let microseconds = u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX);
        Report { number, messages: self.messages, bytes: self.bytes, late: self.late, microseconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_behind_a_later_one_is_late() {
        let (mut tally, start) = (Tally::default(), Instant::now());
        for (number, second) in [(0, 0), (2, 1), (1, 2), (3, 3), (3, 4)] {
            tally.on_data(number, 10, start + Duration::from_secs(second));
        }
        let expected = Report { number: 7, messages: 5, bytes: 50, late: 2, microseconds: 4_000_000 };
        assert_eq!(tally.report(7), expected);
    }
}
