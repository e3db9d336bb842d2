//! The messages of a round that arrived, counted by sender without a lock.

use crate::rendezvous::store::limits::PARTICIPANTS;
use crate::wire::Origin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Number of entries: four times the maximum number of participants, so that participants that come and go
/// during a round find an entry.
const ENTRIES: usize = 4 * PARTICIPANTS;

/// Number of entries that are searched for a sender. Ids are random, so few entries near each other are
/// taken.
const PROBES: usize = 16;

/// The id of a free entry that once belonged to a sender.
const FREE: u64 = u64::MAX;

/// A table of senders.
pub(super) struct Senders {
    entries: Box<[Entry]>,
    /// True if the first messages of all senders are expected.
    from_start: bool,
}

/// The counts of a sender.
struct Entry {
    /// The sender's id; 0 if the entry never had a sender, [`FREE`] if it has none any more.
    id: AtomicU64,
    received: AtomicU32,
    /// The lowest number that was seen.
    first: AtomicU32,
}

impl Senders {
    /// Makes an empty table. `from_start` is true if all messages of the round arrive here; otherwise
    /// messages arrive from some later time on.
    pub(super) fn new(from_start: bool) -> Self {
        let entry = || Entry {
            id: AtomicU64::new(0),
            received: AtomicU32::new(0),
            first: AtomicU32::new(first(from_start)),
        };
        Self { entries: (0..ENTRIES).map(|_| entry()).collect(), from_start }
    }

    /// Counts a message that has arrived. Returns true if there is room for its sender.
    #[inline]
    pub(super) fn count(&self, origin: Origin) -> bool {
        // Relaxed: each number stands for itself, and decisions about them are made after a second look.
        for entry in self.probe(origin.sender) {
            let id = entry.id.load(Ordering::Relaxed);
            if id == origin.sender {
                entry.count(origin);
                return true;
            }
            if id == 0 {
                break;
            }
        }
        let admitted = self.probe(origin.sender).find(|entry| entry.admit(origin.sender));
        admitted.inspect(|entry| entry.count(origin)).is_some()
    }

    /// Makes room for other senders: `gone` left so long ago that no message of them is expected any more.
    pub(super) fn forget(&self, gone: &[u64]) {
        let entries = self.entries.iter().filter(|entry| gone.contains(&entry.id.load(Ordering::Relaxed)));
        for entry in entries {
            entry.received.store(0, Ordering::Relaxed);
            entry.first.store(first(self.from_start), Ordering::Relaxed);
            entry.id.store(FREE, Ordering::Relaxed);
        }
    }

    /// Returns how many of the `sent` messages of a sender are missing; negative if some messages arrived
    /// twice.
    pub(super) fn missing(&self, sender: u64, sent: u32) -> i32 {
        let known = self.probe(sender).find(|entry| entry.id.load(Ordering::Relaxed) == sender);
        match known {
            Some(entry) => {
                let expected = sent.wrapping_sub(entry.first.load(Ordering::Relaxed));
                expected.wrapping_sub(entry.received.load(Ordering::Relaxed)) as i32
            }
            None if self.from_start => sent as i32,
            None => 0,
        }
    }

    #[inline]
    fn probe(&self, sender: u64) -> impl Iterator<Item = &Entry> {
        let start = sender as usize % ENTRIES;
        (start..start + PROBES).filter_map(|at| self.entries.get(at % ENTRIES))
    }
}

/// Returns the initial value of the lowest number.
fn first(from_start: bool) -> u32 {
    if from_start { 0 } else { u32::MAX }
}

impl Entry {
    #[inline]
    fn count(&self, origin: Origin) {
        self.received.fetch_add(1, Ordering::Relaxed);
        if origin.number < self.first.load(Ordering::Relaxed) {
            self.first.fetch_min(origin.number, Ordering::Relaxed);
        }
    }

    /// Gives the entry to a sender, if it is free or belongs to the sender already.
    #[cold]
    fn admit(&self, sender: u64) -> bool {
        let free = self.id.load(Ordering::Relaxed);
        let is_sender = ![0, FREE].contains(&sender);
        if [0, FREE].contains(&free) && is_sender {
            let admitted = self.id.compare_exchange(free, sender, Ordering::Relaxed, Ordering::Relaxed);
            return admitted.map_or_else(|other| other == sender, |_| true);
        }
        is_sender && free == sender
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
        let stride = ENTRIES as u64;
        assert!((1..=PROBES as u64).all(|sender| senders.count(origin(sender * stride, 0))));
        assert!(!senders.count(origin(99 * stride, 0)));
        assert!(senders.count(origin(stride, 1)));
        assert!([0, FREE].iter().all(|nobody| !Senders::new(true).entries[0].admit(*nobody)));
    }

    #[test]
    fn who_has_gone_makes_room_and_nobody_else_is_forgotten() {
        for from_start in [true, false] {
            let senders = Senders::new(from_start);
            let all: Vec<u64> = (1..=PROBES as u64).map(|sender| sender * ENTRIES as u64).collect();
            assert!(all.iter().all(|sender| senders.count(origin(*sender, 0))));
            let (first, last, newcomer) = (all[0], all[PROBES - 1], 99 * ENTRIES as u64);
            senders.forget(&[first, 7]);
            assert!(senders.count(origin(last, 1)) && senders.count(origin(newcomer, 5)));
            assert_eq!(
                (senders.missing(last, 2), senders.missing(newcomer, 6)),
                (0, if from_start { 5 } else { 0 })
            );
            assert!(!senders.count(origin(first, 1)));
        }
    }
}
