//! A path that loses all large datagrams without a report: a black hole (RFC 8899, section 4.3).

use std::time::Duration;

/// Number of large packets lost in a row, none of them acknowledged in between, after which the path is taken
/// for a black hole, if they were lost in at least [`TIMES`] events.
const LOSSES: u32 = 6;

/// Number of loss events in a row. A queue that overflows loses many packets in one event, and carries large
/// packets again behind it.
const TIMES: u32 = 2;

/// The time after which large packets are tried again (RFC 8899, section 5.1.1).
const AGAIN: Duration = Duration::from_secs(600);

/// The state of the path's large packets: packets beyond the size that every path carries.
#[derive(Debug)]
pub(super) struct BlackHole {
    /// The size in bytes that every path carries; without a bound over a stream.
    safe: usize,
    lost_in_a_row: u32,
    /// Number of events in which they were lost: a packet that left after an event was noticed begins another.
    events: u32,
    noticed: Duration,
    /// Time until which large packets leave in pieces.
    until: Option<Duration>,
}

impl BlackHole {
    pub(super) fn beyond(safe: usize) -> Self {
        Self { safe, lost_in_a_row: 0, events: 0, noticed: Duration::ZERO, until: None }
    }

    /// Returns the size that every path carries.
    pub(super) fn safe(&self) -> usize {
        self.safe
    }

    /// Returns true if packets of this size may be lost all of them.
    pub(super) fn is_large(&self, len: usize) -> bool {
        len > self.safe
    }

    /// Returns true if the path has lost all large packets, and none has arrived since.
    pub(super) fn was_found(&self) -> bool {
        self.until.is_some()
    }

    /// Returns true if large packets leave in pieces now.
    pub(super) fn is_there(&self, now: Duration) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// Records that a packet has arrived whole.
    pub(super) fn on_arrived(&mut self, len: usize) {
        if self.is_large(len) {
            self.lost_in_a_row = 0;
            self.events = 0;
            self.until = None;
        }
    }

    /// Records the loss of a packet that had left whole at the time `sent`.
    pub(super) fn on_lost(&mut self, len: usize, sent: Duration, now: Duration) {
        if !self.is_large(len) || self.is_there(now) {
            return;
        }
        self.lost_in_a_row += 1;
        if self.events == 0 || sent >= self.noticed {
            self.events += 1;
            self.noticed = now;
        }
        let is_black = self.lost_in_a_row >= LOSSES && self.events >= TIMES;
        // After the first time a single loss is enough.
        if is_black || self.until.is_some() {
            self.until = Some(now + AGAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn losses_in_a_row_are_a_black_hole_until_it_is_tried_again() {
        let mut path = BlackHole::beyond(1_200);
        for _ in 0..10 {
            (1..LOSSES).for_each(|_| path.on_lost(1_201, SECOND, SECOND));
            path.on_arrived(1_201);
        }
        (0..100).for_each(|_| path.on_lost(1_200, SECOND, SECOND));
        assert!(!path.is_there(SECOND));
        (0..LOSSES).for_each(|_| path.on_lost(1_201, SECOND, SECOND));
        path.on_arrived(1_200);
        assert!(path.is_there(SECOND) && !path.is_there(SECOND + AGAIN));
        path.on_lost(1_201, SECOND, SECOND + AGAIN);
        assert!(path.is_there(SECOND + AGAIN), "a single loss is enough now");
        path.on_arrived(1_201);
        assert!(!path.is_there(SECOND + AGAIN));
    }

    #[test]
    fn a_queue_that_overflows_is_no_black_hole() {
        let mut path = BlackHole::beyond(1_200);
        (0..100).for_each(|_| path.on_lost(1_201, SECOND, 2 * SECOND));
        assert!(!path.is_there(2 * SECOND), "a single event");
        path.on_lost(1_201, 3 * SECOND, 4 * SECOND);
        assert!(path.is_there(4 * SECOND), "a packet that left later is lost as well");
    }

    #[test]
    fn after_a_large_packet_has_arrived_the_next_loss_begins_an_event() {
        let mut path = BlackHole::beyond(1_200);
        assert!(path.safe() == 1_200 && path.is_large(1_201) && !path.is_large(1_200));
        path.on_lost(1_201, SECOND, 4 * SECOND);
        path.on_arrived(1_201);
        // These left before the event that is over was noticed.
        (0..LOSSES).for_each(|_| path.on_lost(1_201, 2 * SECOND, 5 * SECOND));
        assert!(!path.is_there(5 * SECOND), "a single event");
        path.on_lost(1_201, 5 * SECOND, 6 * SECOND);
        assert!(path.is_there(6 * SECOND));
        // While it is there, further losses do not make it last longer.
        path.on_lost(1_201, 7 * SECOND, 7 * SECOND);
        assert!(!path.is_there(6 * SECOND + AGAIN));
    }
}
