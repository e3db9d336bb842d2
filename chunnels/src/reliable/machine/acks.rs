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

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn every_second_packet_is_acknowledged_at_once_and_a_single_one_a_little_later() {
        let mut acks = Acks::default();
        assert!(acks.due().is_none() && acks.pending(us(7)).is_none());
        for first in [0, 2, 4] {
            assert!(acks.on_packet(first, us(5_000)));
            assert_eq!(acks.due(), Some(us(6_000)));
            assert!(acks.on_packet(first + 1, us(5_300)));
            assert_eq!(acks.due(), Some(us(5_300)));
            assert_eq!(acks.pending(us(5_400)).map(|ack| ack.delay_us), Some(100));
            acks.on_sent();
            assert_eq!((acks.due(), acks.pending(us(5_500)).is_some()), (None, false));
        }
    }

    #[test]
    fn packets_out_of_order_and_duplicates_are_acknowledged_at_once() {
        for (before, number, is_new) in
            [(None, 1, true), (Some(0), 2, true), (Some(2), 1, true), (Some(2), 2, false)]
        {
            let mut acks = Acks::default();
            if let Some(before) = before {
                (0..=before)
                    .filter(|at| *at != number || !is_new)
                    .for_each(|at| _ = acks.on_packet(at, us(1_000)));
                acks.on_sent();
            }
            assert_eq!(acks.on_packet(number, us(4_000)), is_new, "{number} after {before:?}");
            assert_eq!(acks.due(), Some(us(4_000)), "{number} after {before:?}");
            // The delay counts from the newest packet.
            let newest_at = if before.is_none_or(|before| number > before) { 4_000 } else { 1_000 };
            assert_eq!(acks.pending(us(9_000)).map(|ack| ack.delay_us), Some(9_000 - newest_at));
        }
    }
}
