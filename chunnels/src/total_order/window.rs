//! One sequence of messages, put in order, without I/O.

use std::collections::BTreeMap;
use std::time::Instant;

/// What of one sequence has arrived before its turn.
#[derive(Debug)]
pub(super) struct Window<T> {
    next: u64,
    early: BTreeMap<u64, T>,
    /// Since when the next one is waited for, while later ones are here.
    since: Option<Instant>,
}

impl<T> Window<T> {
    /// A sequence that begins with 0.
    pub(super) fn new() -> Self {
        Self { next: 0, early: BTreeMap::new(), since: None }
    }

    /// How many wait for their turn.
    pub(super) fn len(&self) -> usize {
        self.early.len()
    }

    /// Since when the next one is waited for.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Takes a message. Fails if it came before, or is no longer waited for.
    pub(super) fn insert(&mut self, now: Instant, number: u64, message: T) -> Result<(), T> {
        if number < self.next || self.early.contains_key(&number) {
            return Err(message);
        }
        self.early.insert(number, message);
        self.since.get_or_insert(now);
        Ok(())
    }

    /// The next message, if it is here.
    pub(super) fn pop(&mut self, now: Instant) -> Option<T> {
        let message = self.early.remove(&self.next)?;
        self.next += 1;
        self.since = (!self.early.is_empty()).then_some(now);
        Some(message)
    }

    /// Passes over what is missing before the first that is here.
    pub(super) fn skip(&mut self) {
        if let Some(first) = self.early.keys().next() {
            self.next = *first;
        }
    }
}
