//! The acknowledgements to send, and their times (RFC 9000, section 13.2).

use super::rtt::MAX_ACK_DELAY;
use crate::reliable::wire::{Acknowledgement, Ranges};
use std::time::Duration;

/// The number of packets after which an acknowledgement is sent at once.
const ACK_EVERY: u32 = 2;

#[derive(Debug)]
pub(super) struct Acks {
    received: Ranges,
    newest_at: Duration,
    /// The number of packets that wait to be acknowledged.
    pending: u32,
    due: Option<Duration>,
}

impl Default for Acks {
    fn default() -> Self {
        Self { received: Ranges::NONE, newest_at: Duration::ZERO, pending: 0, due: None }
    }
}

impl Acks {
    /// Records a numbered packet. Returns true if its number is new, as far as numbers are remembered.
    pub(super) fn on_packet(&mut self, number: u64, now: Duration) -> bool {
        let newest = self.received.newest();
        let is_new = self.received.insert(number);
        let is_next = newest.map_or(number == 0, |newest| number == newest + 1);
        if newest.is_none_or(|newest| number > newest) {
            self.newest_at = now;
        }
        self.pending += 1;
        // Out of order or a duplicate: the sender should learn at once which packets are missing.
        let due = if self.pending >= ACK_EVERY || !is_next { now } else { now + MAX_ACK_DELAY };
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
        is_new
    }

    /// Returns the latest time of the next acknowledgement.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Returns the acknowledgement to send, if any packet waits for it.
    pub(super) fn pending(&self, now: Duration) -> Option<Acknowledgement> {
        self.due?;
        let delay_us = now.saturating_sub(self.newest_at).as_micros() as u64;
        Some(Acknowledgement { delay_us, ranges: self.received })
    }

    /// Records that the acknowledgement was sent.
    pub(super) fn on_sent(&mut self) {
        (self.pending, self.due) = (0, None);
    }
}
