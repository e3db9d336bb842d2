//! What to acknowledge, and when (RFC 9000, section 13.2).

use super::rtt::MAX_ACK_DELAY;
use crate::reliable::wire::{Acknowledgement, Ranges};
use std::time::Duration;

/// After how many packets an acknowledgement goes at once.
const EVERY: u32 = 2;

#[derive(Debug)]
pub(super) struct Acks {
    received: Ranges,
    newest_at: Duration,
    /// How many packets wait to be acknowledged.
    pending: u32,
    due: Option<Duration>,
}

impl Default for Acks {
    fn default() -> Self {
        Self { received: Ranges::NONE, newest_at: Duration::ZERO, pending: 0, due: None }
    }
}

impl Acks {
    /// A numbered packet arrived. Whether it is the first with this number, as far as that is remembered.
    pub(super) fn received(&mut self, number: u64, now: Duration) -> bool {
        let newest = self.received.newest();
        let is_new = self.received.insert(number);
        let is_next = newest.map_or(number == 0, |newest| number == newest + 1);
        if newest.is_none_or(|newest| number > newest) {
            self.newest_at = now;
        }
        self.pending += 1;
        // Out of order, or a second time: the sender should learn soon what is missing, or that nothing is.
        let due = if self.pending >= EVERY || !is_next { now } else { now + MAX_ACK_DELAY };
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
        is_new
    }

    /// When the next acknowledgement goes at the latest.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// What to acknowledge, if anything waits for it.
    pub(super) fn pending(&self, now: Duration) -> Option<Acknowledgement> {
        self.due?;
        let delay_us = now.saturating_sub(self.newest_at).as_micros() as u64;
        Some(Acknowledgement { delay_us, ranges: self.received })
    }

    /// It is sent.
    pub(super) fn sent(&mut self) {
        (self.pending, self.due) = (0, None);
    }
}
