//! The memory and the counts that all parties have in common.

use crate::messages::memory::mappings::Mappings;
use bertha_managed::{CallCounts, Traffic};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The room for the frames of all parties that are no applications, the mappings of all that are, the counts of calls, and the calls on their
/// way. Clones are the same.
///
/// A party may have a quarter of what is free, and so a heap's bytes while it is alone. The more others have, the less a party gets, and
/// it gets something however many they are.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    room: Arc<Room>,
    counts: Arc<CallCounts>,
    traffic: Arc<Traffic>,
    mappings: Mappings,
}

#[derive(Debug)]
struct Room {
    taken: AtomicUsize,
    bytes: usize,
}

impl Common {
    /// Makes an empty room of which a party that is alone may have the bytes of a heap.
    pub(crate) fn new(heap: usize) -> Self {
        let room = Arc::new(Room { taken: AtomicUsize::new(0), bytes: heap.saturating_mul(5) });
        Self { room, counts: Arc::default(), traffic: Arc::default(), mappings: Mappings::of_system() }
    }

    /// Returns the mappings that applications take.
    pub(crate) fn mappings(&self) -> &Mappings {
        &self.mappings
    }

    /// Returns the counts of calls by engines.
    pub(crate) fn counts(&self) -> &Arc<CallCounts> {
        &self.counts
    }

    /// Returns the calls on their way, as engines see them.
    pub(crate) fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// Returns true if a party may have so many bytes more than those that it has.
    pub(crate) fn has_room(&self, has: usize, more: usize) -> bool {
        // What others take at the same moment is not seen, and no more than a message.
        let free = self.room.bytes.saturating_sub(self.taken()).saturating_sub(more);
        has.saturating_add(more) <= free / 4
    }

    /// Returns the number of bytes that are taken.
    pub(crate) fn taken(&self) -> usize {
        self.room.taken.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self, bytes: usize) {
        self.room.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.room.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_that_is_alone_has_a_heap_and_many_leave_something() {
        let common = Common::new(1 << 20);
        let fill = || {
            let mut has = 0;
            while common.has_room(has, 64) {
                common.take(64);
                has += 64;
            }
            has
        };
        let first = fill();
        assert_eq!(first, 1 << 20);
        let others: Vec<_> = (0..20).map(|_| fill()).collect();
        assert!(others.is_sorted_by(|one, next| one >= next) && others[19] > 10_000, "{others:?}");
        common.give_back(first + others.iter().sum::<usize>());
        assert_eq!(fill(), 1 << 20);
    }
}
