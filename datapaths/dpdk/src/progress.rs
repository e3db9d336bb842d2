//! Ports without progress: frames come or wait to be sent, and the port moves none.

use crate::PortStatistics;
use std::time::{Duration, Instant};

/// Time between two looks at a port's counters.
const INTERVAL: Duration = Duration::from_secs(1);

/// Number of consecutive looks without progress after which a port counts as stuck. A short burst may fill the
/// rings of a port whose process is late.
const LOOKS: u32 = 3;

/// The counts that tell if a port makes progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    received: u64,
    /// Frames that the port lost.
    lost: u64,
    sent: u64,
    /// Attempts to send of which the port took no frame.
    refused: u64,
    /// True if no buffer is free to receive into. Some drivers don't count the frames that they lose then.
    is_starved: bool,
}

impl Counts {
    pub(crate) fn new(statistics: PortStatistics, refused: u64, is_starved: bool) -> Self {
        let PortStatistics { received, sent, missed, no_mbuf, .. } = statistics;
        Self { received, lost: missed.wrapping_add(no_mbuf), sent, refused, is_starved }
    }

    /// Returns true for each direction in which frames waited since `before`, or could not have been moved, and none
    /// was moved.
    fn stands_still(self, before: Self) -> [bool; 2] {
        [
            (self.lost != before.lost || self.is_starved && before.is_starved)
                && self.received == before.received,
            self.refused != before.refused && self.sent == before.sent,
        ]
    }
}

/// A direction in which a port makes no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    Receiving,
    Sending,
}

/// The progress of a port.
#[derive(Debug)]
pub(crate) struct Progress {
    due: Instant,
    before: Option<Counts>,
    /// Number of looks since the last progress, of each direction.
    idle: [u32; 2],
}

impl Progress {
    pub(crate) fn new(now: Instant) -> Self {
        Self { due: now, before: None, idle: [0; 2] }
    }

    /// Returns true if the port's counters have to be looked at.
    #[inline]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    /// Records the counters of the port. Returns the directions in which the port is stuck, and with each true if it
    /// was not stuck before.
    pub(crate) fn look(&mut self, counts: Counts, now: Instant) -> impl Iterator<Item = (Stuck, bool)> {
        self.due = now + INTERVAL;
        let stands_still =
            self.before.replace(counts).map_or([false; 2], |before| counts.stands_still(before));
        for (idle, still) in self.idle.iter_mut().zip(stands_still) {
            *idle = if still { idle.saturating_add(1) } else { 0 };
        }
        let directions = [Stuck::Receiving, Stuck::Sending].into_iter().zip(self.idle);
        directions.filter(|(_, idle)| *idle >= LOOKS).map(|(stuck, idle)| (stuck, idle == LOOKS))
    }

    /// Forgets what was seen, since the port has no link, and moves nothing for that reason.
    pub(crate) fn rest(&mut self, now: Instant) {
        *self = Self { due: now + INTERVAL, ..Self::new(now) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(received: u64, lost: u64, sent: u64, refused: u64) -> Counts {
        let statistics = PortStatistics { received, missed: lost, sent, ..PortStatistics::default() };
        Counts::new(statistics, refused, false)
    }

    /// Returns what each look finds, a second after the other.
    fn looks(all: impl IntoIterator<Item = Counts>) -> Vec<Vec<(Stuck, bool)>> {
        let mut now = Instant::now();
        let mut progress = Progress::new(now);
        let look = |counts| {
            assert!(progress.is_due(now));
            let found = progress.look(counts, now).collect();
            assert!(!progress.is_due(now));
            now += INTERVAL;
            found
        };
        all.into_iter().map(look).collect()
    }

    #[test]
    fn a_port_that_loses_everything_is_stuck_after_three_seconds() {
        let found = looks((0..6).map(|second| counts(100, second * 10, 7, 0)));
        let stuck = |is_new| vec![(Stuck::Receiving, is_new)];
        assert_eq!(found, [vec![], vec![], vec![], stuck(true), stuck(false), stuck(false)]);
        let found = looks((0..5).map(|second| counts(100 + second, 0, 7, second)));
        assert_eq!(found[3..], [vec![(Stuck::Sending, true)], vec![(Stuck::Sending, false)]]);
    }

    #[test]
    fn a_port_without_a_free_buffer_is_stuck_though_its_driver_counts_no_loss() {
        let starved = |received, is_starved| Counts { is_starved, ..counts(received, 0, 0, 0) };
        let found = looks((0..5).map(|_| starved(9, true)));
        assert_eq!(found[3..], [vec![(Stuck::Receiving, true)], vec![(Stuck::Receiving, false)]]);
        assert!(looks((0..60).map(|it| starved(9, it % 2 == 0))).iter().all(Vec::is_empty));
        assert!(looks((0..60).map(|it| starved(it, true))).iter().all(Vec::is_empty));
    }

    #[test]
    fn a_port_that_moves_a_little_or_has_nothing_to_move_is_not_stuck() {
        assert!(
            looks((0..60).map(|it| counts(it / 3, it * 1000, it / 3, it * 1000))).iter().all(Vec::is_empty)
        );
        assert!(looks((0..60).map(|_| counts(5, 9, 7, 3))).iter().all(Vec::is_empty));
    }

    #[test]
    fn a_port_that_recovers_is_told_anew_when_it_is_stuck_again() {
        let lost = |received| (0..4).map(move |it| counts(received, received * 100 + it, 0, 0));
        let found = looks(lost(1).chain(lost(2)));
        let news = found.iter().flatten().filter(|(_, is_new)| *is_new).count();
        assert_eq!(news, 2);
    }

    #[test]
    fn a_port_without_a_link_is_not_stuck() {
        let mut now = Instant::now();
        let mut progress = Progress::new(now);
        for second in 0..60 {
            now += INTERVAL;
            if second % 3 == 2 {
                progress.rest(now);
            } else {
                assert_eq!(progress.look(counts(0, second, 0, second), now).count(), 0);
            }
        }
    }
}
