//! The boundaries whose acknowledgements are awaited.

use std::collections::VecDeque;
use std::time::Duration;

/// Largest number of awaited acknowledgements: far more than four per round trip, so that boxes which don't
/// know the path yet have enough.
const MAX_AWAITED: usize = 256;

/// Time after which a boundary counts as lost.
const EXPIRY: Duration = Duration::from_secs(3);

/// A boundary that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Boundary {
    pub(super) hash: u64,
    pub(super) sent_at: Duration,
    /// Number of bytes, and of packets with an identity, that were sent so far, the boundary included.
    pub(super) bytes: u64,
    pub(super) packets: u64,
    /// True if packets have waited ever since the last boundary was sent.
    pub(super) is_backlogged: bool,
}

/// The awaited boundaries, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Boundaries {
    awaited: VecDeque<Awaited>,
}

#[derive(Debug)]
struct Awaited {
    boundary: Boundary,
    /// True if a later boundary has the same hash, so that an acknowledgement tells nothing.
    is_ambiguous: bool,
}

impl Boundaries {
    /// Adds a boundary. If too many are awaited, those of the smallest size make room: a receivebox of larger epochs
    /// acknowledges the others alone.
    pub(super) fn add(&mut self, boundary: Boundary) {
        while self
            .awaited
            .pop_front_if(|oldest| oldest.boundary.sent_at + EXPIRY < boundary.sent_at)
            .is_some()
        {}
        let mut is_ambiguous = false;
        for other in self.awaited.iter_mut().filter(|other| other.boundary.hash == boundary.hash) {
            (other.is_ambiguous, is_ambiguous) = (true, true);
        }
        if self.awaited.len() == MAX_AWAITED {
            self.thin_out();
        }
        if self.awaited.len() < MAX_AWAITED {
            self.awaited.push_back(Awaited { boundary, is_ambiguous });
        }
    }

    /// Takes the boundary with this hash, whose acknowledgement came at `now`, and drops those that were sent
    /// a round trip before it: their acknowledgements are lost. Returns `None` if there is no such boundary,
    /// or if there are several.
    pub(super) fn take(&mut self, hash: u64, now: Duration) -> Option<Boundary> {
        let at = self.awaited.iter().position(|awaited| awaited.boundary.hash == hash)?;
        if self.awaited.get(at)?.is_ambiguous {
            return None;
        }
        let boundary = self.awaited.remove(at)?.boundary;
        let round_trip = now.saturating_sub(boundary.sent_at);
        let is_lost = |oldest: &mut Awaited| oldest.boundary.sent_at + round_trip < boundary.sent_at;
        while self.awaited.pop_front_if(is_lost).is_some() {}
        Some(boundary)
    }

    /// Removes the boundaries of the smallest size, about half of all. The ambiguous ones stay: without them, a later boundary
    /// with their hash would count as the only one.
    fn thin_out(&mut self) {
        let size = |awaited: &Awaited| awaited.boundary.hash.trailing_zeros();
        let smallest = self.awaited.iter().filter(|awaited| !awaited.is_ambiguous).map(size).min();
        self.awaited.retain(|awaited| awaited.is_ambiguous || Some(size(awaited)) > smallest);
    }

    pub(super) fn len(&self) -> usize {
        self.awaited.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, hash: u64) -> Boundary {
        let sent_at = Duration::from_millis(ms);
        Boundary { hash, sent_at, bytes: 0, packets: 0, is_backlogged: false }
    }

    fn take(boundaries: &mut Boundaries, hash: u64, ms: u64) -> Option<u64> {
        boundaries.take(hash, Duration::from_millis(ms)).map(|boundary| boundary.hash)
    }

    #[test]
    fn acknowledgements_may_come_in_any_order_within_a_round_trip() {
        let mut boundaries = Boundaries::default();
        (1..=5).for_each(|number| boundaries.add(at(10 * number, number)));
        assert_eq!(take(&mut boundaries, 2, 70), Some(2));
        assert_eq!(take(&mut boundaries, 2, 70), None);
        assert_eq!(take(&mut boundaries, 1, 70), Some(1));
        // 50 ms less a round trip of 15 ms is after boundaries 3, and before 4.
        assert_eq!(take(&mut boundaries, 5, 65), Some(5));
        assert_eq!((take(&mut boundaries, 3, 70), take(&mut boundaries, 4, 70)), (None, Some(4)));
    }

    #[test]
    fn two_boundaries_with_a_hash_tell_nothing() {
        let mut boundaries = Boundaries::default();
        [1, 2, 1].into_iter().enumerate().for_each(|(ms, hash)| boundaries.add(at(ms as u64, hash)));
        assert_eq!(take(&mut boundaries, 1, 50), None);
        assert_eq!(take(&mut boundaries, 2, 50), Some(2));
    }

    /// Such a receivebox heard an earlier sendbox, or many packets without a sendbox.
    #[test]
    fn a_receivebox_of_large_epochs_finds_its_boundaries_among_many() {
        let mut boundaries = Boundaries::default();
        (1..=4_096).for_each(|number| boundaries.add(at(0, number)));
        for hash in (1..=8).map(|number| 512 * number) {
            assert_eq!(take(&mut boundaries, hash, 50), Some(hash));
        }
    }

    #[test]
    fn a_hash_that_was_ambiguous_stays_so() {
        let mut boundaries = Boundaries::default();
        (0..1_000).for_each(|_| boundaries.add(at(0, 1)));
        assert_eq!((boundaries.len(), take(&mut boundaries, 1, 50)), (MAX_AWAITED, None));
    }

    #[test]
    fn their_number_is_bounded_and_the_lost_make_room() {
        let mut boundaries = Boundaries::default();
        (0..1_000).for_each(|number| boundaries.add(at(0, number)));
        assert!((MAX_AWAITED / 4..=MAX_AWAITED).contains(&boundaries.len()), "{}", boundaries.len());
        boundaries.add(at(3_001, 5_000));
        assert_eq!(boundaries.len(), 1);
        assert_eq!(take(&mut boundaries, 5_000, 3_050), Some(5_000));
    }
}
