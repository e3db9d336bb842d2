//! How many messages of a round arrived from whom, counted without a lock.

use crate::rendezvous::limits::PARTICIPANTS;
use crate::wire::Origin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Four times as many as there can be participants, so that those who come and go during a round find one.
const PLACES: usize = 4 * PARTICIPANTS;

/// How many places are looked at for a sender. Ids are random, so few are taken near each other.
const PROBES: usize = 16;

/// A table of senders, none of which is ever removed.
pub(super) struct Senders {
    places: Box<[Place]>,
    /// Whether the first messages of all senders are expected.
    from_start: bool,
}

/// A sender.
struct Place {
    /// 0 if there is none.
    id: AtomicU64,
    received: AtomicU32,
    /// The lowest number that was seen.
    first: AtomicU32,
}

impl Senders {
    /// Nobody yet. `from_start`: what everyone sends in this round arrives here; else what they send from some time on.
    pub(super) fn new(from_start: bool) -> Self {
        let first = if from_start { 0 } else { u32::MAX };
        let place =
            || Place { id: AtomicU64::new(0), received: AtomicU32::new(0), first: AtomicU32::new(first) };
        Self { places: (0..PLACES).map(|_| place()).collect(), from_start }
    }

    /// Counts a message that has arrived. Whether there is room for its sender.
    #[inline]
    pub(super) fn count(&self, origin: Origin) -> bool {
        for place in self.probe(origin.sender) {
            // Relaxed: the numbers stand for themselves, and whoever decides by them looks again.
            if place.id.load(Ordering::Relaxed) != origin.sender && !place.admit(origin.sender) {
                continue;
            }
            place.received.fetch_add(1, Ordering::Relaxed);
            if origin.number < place.first.load(Ordering::Relaxed) {
                place.first.fetch_min(origin.number, Ordering::Relaxed);
            }
            return true;
        }
        false
    }

    /// How many of the `sent` messages of a sender are missing; negative if some came twice.
    pub(super) fn missing(&self, sender: u64, sent: u32) -> i32 {
        let known = self.probe(sender).find(|place| place.id.load(Ordering::Relaxed) == sender);
        match known {
            Some(place) => {
                let expected = sent.wrapping_sub(place.first.load(Ordering::Relaxed));
                expected.wrapping_sub(place.received.load(Ordering::Relaxed)) as i32
            }
            None if self.from_start => sent as i32,
            None => 0,
        }
    }

    /// How many messages arrived from anyone, as a number that changes with each.
    pub(super) fn total(&self) -> u32 {
        self.places.iter().fold(0, |sum, place| sum.wrapping_add(place.received.load(Ordering::Relaxed)))
    }

    #[inline]
    fn probe(&self, sender: u64) -> impl Iterator<Item = &Place> {
        let start = sender as usize % PLACES;
        (start..start + PROBES).filter_map(|at| self.places.get(at % PLACES))
    }
}

impl Place {
    /// Gives the place to a sender, if it is free or the sender's already.
    #[cold]
    fn admit(&self, sender: u64) -> bool {
        match self.id.compare_exchange(0, sender, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => sender != 0,
            Err(other) => other == sender,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(sender: u64, number: u32) -> Origin {
        Origin { number, sender }
    }

    #[test]
    fn what_is_missing_is_known_per_sender() {
        let senders = Senders::new(true);
        assert_eq!((senders.missing(7, 0), senders.missing(7, 3)), (0, 3));
        for number in [2, 0] {
            assert!(senders.count(origin(7, number)));
        }
        assert_eq!((senders.missing(7, 3), senders.missing(9, 1)), (1, 1));
        assert!(senders.count(origin(7, 2)));
        assert_eq!((senders.missing(7, 3), senders.missing(7, 2)), (0, -1));
        assert_eq!(senders.total(), 3);
    }

    #[test]
    fn who_came_later_expects_nothing_from_before() {
        let senders = Senders::new(false);
        assert_eq!(senders.missing(7, 100), 0);
        for number in [41, 40, 43] {
            assert!(senders.count(origin(7, number)));
        }
        assert_eq!(senders.missing(7, 44), 1);
    }

    #[test]
    fn numbers_begin_again_after_the_highest() {
        let senders = Senders::new(false);
        assert!(senders.count(origin(7, u32::MAX)));
        assert!(senders.count(origin(7, 0)));
        assert!(senders.missing(7, 1).abs() <= 1);
    }

    #[test]
    fn a_full_table_takes_nobody_else_and_nobody_has_no_id() {
        let senders = Senders::new(true);
        let stride = PLACES as u64;
        assert!((1..=PROBES as u64).all(|sender| senders.count(origin(sender * stride, 0))));
        assert!(!senders.count(origin(99 * stride, 0)));
        assert!(senders.count(origin(stride, 1)));
        assert!(!Senders::new(true).count(origin(0, 0)) || PROBES > 1);
    }
}
