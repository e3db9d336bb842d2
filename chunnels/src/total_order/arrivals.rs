//! Messages of several sequences on their way to the application, without I/O.

use super::Limits;
use super::window::Window;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// How many sequences are kept at once; whose messages came least recently gives way.
const SEQUENCES: usize = 1_024;

/// What has arrived: what may be received, and what waits for its turn.
#[derive(Debug)]
pub(super) struct Arrivals<T> {
    sequences: BTreeMap<u64, Sequence<T>>,
    ready: VecDeque<T>,
    limits: Limits,
    clock: u64,
    /// How many were dropped: they came twice, or after they were passed over.
    pub(super) dropped: u64,
}

#[derive(Debug)]
struct Sequence<T> {
    window: Window<T>,
    last_used: u64,
}

impl<T> Arrivals<T> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { sequences: BTreeMap::new(), ready: VecDeque::new(), limits, clock: 0, dropped: 0 }
    }

    /// Takes message `number` of a sequence. Whether one is waited for from now on, so that there is another deadline.
    pub(super) fn insert(&mut self, now: Instant, sequence: u64, number: u64, message: T) -> bool {
        self.clock += 1;
        if !self.sequences.contains_key(&sequence) && self.sequences.len() >= SEQUENCES {
            self.forget_one();
        }
        let place = self
            .sequences
            .entry(sequence)
            .or_insert_with(|| Sequence { window: Window::new(), last_used: 0 });
        place.last_used = self.clock;
        let has_waited = place.window.since().is_some();
        if place.window.insert(now, number, message).is_err() {
            self.dropped += 1;
            return false;
        }
        if place.window.len() >= self.limits.capacity {
            place.window.skip();
        }
        while let Some(message) = place.window.pop(now) {
            self.ready.push_back(message);
        }
        !has_waited && place.window.since().is_some()
    }

    fn forget_one(&mut self) {
        let oldest = self.sequences.iter().min_by_key(|(_, sequence)| sequence.last_used).map(|(id, _)| *id);
        if let Some(mut forgotten) = oldest.and_then(|id| self.sequences.remove(&id)) {
            self.dropped += forgotten.window.len() as u64;
            forgotten.window.skip();
        }
    }

    /// The next message to be received.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.ready.pop_front()
    }

    /// The same, and it stays.
    pub(super) fn front(&mut self) -> Option<&mut T> {
        self.ready.front_mut()
    }

    /// Whether there is one.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// When patience ends with a message that is missing.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let since = self.sequences.values().filter_map(|sequence| sequence.window.since()).min();
        since.map(|since| since + self.limits.patience)
    }

    /// Passes over what has been missing for too long.
    pub(super) fn expire(&mut self, now: Instant) {
        let patience = self.limits.patience;
        let late = |since: Instant| now.saturating_duration_since(since) >= patience;
        for sequence in self.sequences.values_mut() {
            if sequence.window.since().is_some_and(late) {
                sequence.window.skip();
                while let Some(message) = sequence.window.pop(now) {
                    self.ready.push_back(message);
                }
            }
        }
    }

    /// Nothing more will come: passes over all that is missing.
    pub(super) fn flush(&mut self, now: Instant) {
        for sequence in self.sequences.values_mut() {
            while sequence.window.len() > 0 {
                sequence.window.skip();
                while let Some(message) = sequence.window.pop(now) {
                    self.ready.push_back(message);
                }
            }
        }
    }
}
