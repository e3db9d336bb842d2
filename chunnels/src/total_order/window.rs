//! The reordering of one sequence of messages, without I/O.

use std::collections::BTreeMap;
use std::time::Instant;

/// The early messages of one sequence.
#[derive(Debug)]
pub(super) struct Window<T> {
    next: u64,
    early: BTreeMap<u64, T>,
    /// The time since when the next message is missing, while there are early messages.
    gap_since: Option<Instant>,
}

impl<T> Window<T> {
    /// Makes a sequence that begins with 0.
    pub(super) fn new() -> Self {
        Self { next: 0, early: BTreeMap::new(), gap_since: None }
    }

    /// Returns the number of early messages.
    pub(super) fn len(&self) -> usize {
        self.early.len()
    }

    /// Returns the time since when the next message is missing, while there are early messages.
    pub(super) fn gap_since(&self) -> Option<Instant> {
        self.gap_since
    }

    /// Inserts a message. Fails for a duplicate, and for a message that was skipped.
    pub(super) fn insert(&mut self, now: Instant, number: u64, message: T) -> Result<(), T> {
        if number < self.next || self.early.contains_key(&number) {
            return Err(message);
        }
        self.early.insert(number, message);
        self.gap_since.get_or_insert(now);
        Ok(())
    }

    /// Returns the next message, if it has arrived.
    pub(super) fn pop(&mut self, now: Instant) -> Option<T> {
        let message = self.early.remove(&self.next)?;
        self.next += 1;
        self.gap_since = (!self.early.is_empty()).then_some(now);
        Some(message)
    }

    /// Skips the missing messages before the first early message. Returns true if messages were missing.
    pub(super) fn skip(&mut self) -> bool {
        let next = self.next;
        self.next = self.early.keys().next().map_or(next, |first| *first);
        self.next > next
    }
}
