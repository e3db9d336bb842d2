//! The epochs of the last round trip, and what they measure.

use super::boundaries::Boundary;
use std::collections::VecDeque;
use std::time::Duration;

/// Largest number of epochs in the window.
const MAX_EPOCHS: usize = 64;

/// Number of bytes that more may arrive in an epoch than were sent in it, beside as many again: packets that
/// overtook each other, or that the path doubled.
const PLAUSIBLE: u64 = 1 << 16;

/// An acknowledged boundary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acked {
    pub(super) boundary: Boundary,
    pub(super) at: Duration,
    /// Number of bytes that had arrived.
    pub(super) received: u64,
}

/// Rates over the window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rates {
    /// In bytes per second; zero if there is only one boundary, or no time between the outermost two.
    pub(super) sending: f64,
    pub(super) receiving: f64,
    /// In packets with an identity per second.
    pub(super) packets: f64,
}

/// The acknowledged boundaries of the last round trip, the oldest first, and one boundary before them.
#[derive(Debug, Default)]
pub(super) struct Window {
    acked: VecDeque<Acked>,
    /// Number of bytes that were found lost so far, and the number that was missing at the first boundary.
    lost: u64,
    missing_at_first: Option<u64>,
}

/// The new facts that a boundary tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Number of bytes that have arrived since the boundary before.
    pub(super) delivered: u64,
    /// Number of bytes that were found lost since then.
    pub(super) lost: u64,
}

impl Window {
    /// Adds a boundary. Returns `None` if it is older than the last one, or if its count can't be true.
    pub(super) fn add(&mut self, acked: Acked) -> Option<News> {
        let mut delivered = 0;
        if let Some(last) = self.acked.back() {
            let sent = acked.boundary.bytes.checked_sub(last.boundary.bytes)?;
            delivered = acked.received.checked_sub(last.received)?;
            if delivered > sent.saturating_mul(2).saturating_add(PLAUSIBLE) {
                return None;
            }
        }
        if self.acked.len() == MAX_EPOCHS {
            self.acked.pop_front();
        }
        self.acked.push_back(acked);
        // The acknowledged boundary left the sendbox a round trip ago.
        while self.acked.get(1).is_some_and(|second| second.at <= acked.boundary.sent_at) {
            self.acked.pop_front();
        }
        Some(News { delivered, lost: self.newly_lost() })
    }

    pub(super) fn rates(&self) -> Rates {
        let (Some(first), Some(last)) = (self.acked.front(), self.acked.back()) else {
            return Rates::default();
        };
        let per_second = |count: u64, from: Duration, to: Duration| {
            let seconds = to.saturating_sub(from).as_secs_f64();
            if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
        };
        let [from, to] = [first.boundary, last.boundary];
        Rates {
            sending: per_second(to.bytes - from.bytes, from.sent_at, to.sent_at),
            receiving: per_second(last.received - first.received, first.at, last.at),
            packets: per_second(to.packets - from.packets, from.sent_at, to.sent_at),
        }
    }

    /// Forgets all boundaries: the receivebox counts anew.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of bytes that were missing at all boundaries of the window and that were not known
    /// to be lost. A packet that arrives late is missing at a few boundaries alone.
    fn newly_lost(&mut self) -> u64 {
        // The count of the receivebox may have begun at any number.
        let missing = |acked: &Acked| acked.boundary.bytes.wrapping_sub(acked.received);
        let Some(first) = self.acked.front() else { return 0 };
        let before = *self.missing_at_first.get_or_insert(missing(first));
        // The difference is negative if packets arrived early or twice.
        let since = |acked: &Acked| missing(acked).wrapping_sub(before).cast_signed().max(0).cast_unsigned();
        let least = self.acked.iter().map(since).min().unwrap_or(0);
        let newly = least.saturating_sub(self.lost);
        self.lost += newly;
        newly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A boundary each 10 ms, after 10 packets of 1,000 bytes each, over a path of 40 ms.
    fn acked(number: u64, missing: u64) -> Acked {
        let sent_at = MS * 10 * number as u32;
        let (bytes, packets) = (10_000 * number, 10 * number);
        let boundary = Boundary { hash: number, sent_at, bytes, packets, is_backlogged: true };
        Acked { boundary, at: sent_at + 40 * MS, received: 1_000_000 + bytes - missing }
    }

    #[test]
    fn rates_are_those_of_a_round_trip() {
        let mut window = Window::default();
        assert_eq!(window.rates(), Rates::default());
        assert_eq!(window.add(acked(1, 0)), Some(News::default()));
        assert_eq!(window.rates(), Rates::default());
        for number in 2..20 {
            assert_eq!(window.add(acked(number, 0)), Some(News { delivered: 10_000, lost: 0 }));
            assert_eq!(window.rates(), Rates { sending: 1e6, receiving: 1e6, packets: 1e3 });
        }
        assert_eq!(window.acked.len(), 5);
        // The queue of the path grows by 10 ms, so its round trip takes 50 ms.
        let slower = Acked { at: acked(21, 0).at, ..acked(20, 0) };
        window.add(slower).unwrap();
        let Rates { sending, receiving, .. } = window.rates();
        assert_eq!(sending, 1e6);
        assert_eq!(receiving, 8e5);
    }

    #[test]
    fn what_is_missing_for_a_round_trip_is_lost_once() {
        let mut window = Window::default();
        // At boundary 5 packets are late, and from boundary 10 on three are lost.
        let missing = |number| {
            if number == 5 {
                2_000
            } else if number >= 10 {
                3_000
            } else {
                0
            }
        };
        let mut lost = 0;
        for number in 1..=20 {
            let news = window.add(acked(number, missing(number))).unwrap();
            assert!(news.lost == 0 || number >= 14, "{number}: {news:?}");
            lost += news.lost;
        }
        assert_eq!(lost, 3_000);
    }

    #[test]
    fn a_late_boundary_and_a_count_that_lies_tell_nothing() {
        let mut window = Window::default();
        (1..=4).for_each(|number| _ = window.add(acked(number, 0)).unwrap());
        let lies = [
            Acked { received: u64::MAX, ..acked(5, 0) },
            Acked { received: acked(5, 0).received + 80_000, ..acked(5, 0) },
            Acked { received: 0, ..acked(5, 0) },
        ];
        assert!(lies.into_iter().all(|lie| window.add(lie).is_none()));
        assert_eq!(window.add(acked(3, 0)), None);
        assert_eq!(window.rates().receiving, 1e6);
        window.add(acked(5, 0)).unwrap();
        assert_eq!(window.rates().receiving, 1e6);
        window.clear();
        assert_eq!(window.add(Acked { received: 0, ..acked(6, 0) }), Some(News::default()));
    }

    #[test]
    fn a_window_is_bounded() {
        let mut window = Window::default();
        for number in 1..1_000 {
            let at = acked(1_000, 0).at;
            window.add(Acked { at, ..acked(number, 0) }).unwrap();
            assert!(window.acked.len() <= MAX_EPOCHS);
        }
        assert_eq!(window.rates().receiving, 0.0, "all came at once");
    }
}
