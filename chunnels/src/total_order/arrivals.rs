//! The received messages of several sequences, without I/O.

use super::window::Window;
use super::{Limits, TotalOrderStatistics};
use bertha_core::DropCounter;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// Maximum number of sequences; beyond it the least recently used sequence is evicted.
const MAX_SEQUENCES: usize = 1_024;

/// The messages that have arrived: messages to deliver, and early messages.
#[derive(Debug)]
pub(super) struct Arrivals<T> {
    sequences: BTreeMap<u64, Sequence<T>>,
    ready: VecDeque<T>,
    limits: Limits,
    clock: u64,
    gaps_skipped: u64,
    /// The number of messages dropped as duplicates, or after they were skipped.
    pub(super) dropped: DropCounter,
}

#[derive(Debug)]
struct Sequence<T> {
    window: Window<T>,
    last_used: u64,
}

impl<T> Arrivals<T> {
    pub(super) fn new(limits: Limits, dropped: DropCounter) -> Self {
        Self {
            sequences: BTreeMap::new(),
            ready: VecDeque::new(),
            limits,
            clock: 0,
            gaps_skipped: 0,
            dropped,
        }
    }

    /// Returns the state, at an end that leads or not.
    pub(super) fn statistics(&self, leads: bool) -> TotalOrderStatistics {
        TotalOrderStatistics {
            sequences: self.sequences.len() as u64,
            held_back: self.sequences.values().map(|sequence| sequence.window.len() as u64).sum(),
            capacity: self.limits.capacity as u64,
            to_receive_messages: self.ready.len() as u64,
            gaps_skipped: self.gaps_skipped,
            leads,
        }
    }

    /// Inserts message `number` of a sequence. Returns true if a gap has begun, and so a new deadline.
    pub(super) fn insert(&mut self, now: Instant, sequence: u64, number: u64, message: T) -> bool {
        self.clock += 1;
        if !self.sequences.contains_key(&sequence) && self.sequences.len() >= MAX_SEQUENCES {
            self.evict_one();
        }
        let slot = self
            .sequences
            .entry(sequence)
            .or_insert_with(|| Sequence { window: Window::new(), last_used: 0 });
        slot.last_used = self.clock;
        let had_gap = slot.window.gap_since().is_some();
        if slot.window.insert(now, number, message).is_err() {
            self.dropped.add(1);
            return false;
        }
        if slot.window.len() >= self.limits.capacity {
            self.gaps_skipped += u64::from(slot.window.skip());
        }
        while let Some(message) = slot.window.pop(now) {
            self.ready.push_back(message);
        }
        !had_gap && slot.window.gap_since().is_some()
    }

    fn evict_one(&mut self) {
        let oldest = self.sequences.iter().min_by_key(|(_, sequence)| sequence.last_used).map(|(id, _)| *id);
        if let Some(evicted) = oldest.and_then(|id| self.sequences.remove(&id)) {
            self.dropped.add(evicted.window.len() as u64);
        }
    }

    /// Takes the next message to deliver.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.ready.pop_front()
    }

    /// Returns the next message to deliver, which stays.
    pub(super) fn front(&mut self) -> Option<&mut T> {
        self.ready.front_mut()
    }

    /// Returns true if there is a message to deliver.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the time at which the first gap times out.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let since = self.sequences.values().filter_map(|sequence| sequence.window.gap_since()).min();
        since.map(|since| since + self.limits.gap_timeout)
    }

    /// Skips the messages whose gap has timed out.
    pub(super) fn expire(&mut self, now: Instant) {
        let timeout = self.limits.gap_timeout;
        let late = |since: Instant| now.saturating_duration_since(since) >= timeout;
        for sequence in self.sequences.values_mut() {
            if sequence.window.gap_since().is_some_and(late) {
                self.gaps_skipped += u64::from(sequence.window.skip());
                while let Some(message) = sequence.window.pop(now) {
                    self.ready.push_back(message);
                }
            }
        }
    }

    /// Skips all missing messages, since no more messages will arrive.
    pub(super) fn flush(&mut self, now: Instant) {
        for sequence in self.sequences.values_mut() {
            while sequence.window.len() > 0 {
                self.gaps_skipped += u64::from(sequence.window.skip());
                while let Some(message) = sequence.window.pop(now) {
                    self.ready.push_back(message);
                }
            }
        }
    }
}
