//! Entries in the order of their deadlines, without a clock.

use std::collections::BTreeMap;
use std::time::Instant;

/// Deadline of an entry, and the number that tells it from entries with equal deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DelayKey {
    deadline: Instant,
    number: u64,
}

/// Entries, each with a deadline.
#[derive(Debug)]
pub(crate) struct DelayQueue<T> {
    entries: BTreeMap<DelayKey, T>,
    numbers: u64,
}

impl<T> DelayQueue<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: BTreeMap::new(), numbers: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn insert(&mut self, deadline: Instant, entry: T) -> DelayKey {
        self.numbers += 1;
        let key = DelayKey { deadline, number: self.numbers };
        self.entries.insert(key, entry);
        key
    }

    pub(crate) fn get_mut(&mut self, key: DelayKey) -> Option<&mut T> {
        self.entries.get_mut(&key)
    }

    pub(crate) fn remove(&mut self, key: DelayKey) -> Option<T> {
        self.entries.remove(&key)
    }

    /// Removes the first entry if it is due.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(DelayKey, T)> {
        let first = self.entries.first_entry().filter(|first| first.key().deadline <= now)?;
        Some(first.remove_entry())
    }

    /// Returns the earliest deadline.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.entries.first_key_value().map(|(key, _)| key.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn entries_come_out_in_the_order_of_their_deadlines_and_not_before() {
        let (mut queue, start) = (DelayQueue::new(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let keys = [3, 1, 2, 1].map(|seconds| queue.insert(at(seconds), seconds));
        assert_eq!(queue.remove(keys[2]), Some(2));
        assert_eq!((queue.remove(keys[2]), queue.len()), (None, 3));
        assert_eq!((queue.pop_due(start), queue.next_deadline()), (None, Some(at(1))));
        assert_eq!(queue.pop_due(at(1)), Some((keys[1], 1)));
        assert_eq!(queue.pop_due(at(9)), Some((keys[3], 1)));
        assert_eq!(queue.pop_due(at(9)), Some((keys[0], 3)));
        assert_eq!((queue.pop_due(at(9)), queue.next_deadline()), (None, None));
    }
}
