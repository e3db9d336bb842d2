//! The messages that are held back, for people who ask what a connection does.

use bertha_core::Statistics;
use bertha_core::statistics::{LayerStatistics, Observed, Value};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The state of a connection of [`Ordered`](super::Ordered) or [`OrderedByKey`](super::OrderedByKey) at one
/// moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderedStatistics {
    /// Messages that have arrived before an earlier message, and wait for it.
    pub held_back: u64,
    /// Maximum number of such messages.
    pub capacity: u64,
}

impl LayerStatistics for OrderedStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![("held_back", Value::Number(self.held_back)), ("capacity", Value::Number(self.capacity))]
    }
}

/// The number of early messages, which changes with them alone: a message that arrives in order costs nothing.
#[derive(Debug)]
pub(super) struct HeldBack {
    name: &'static str,
    capacity: usize,
    /// Written under the lock of the connection.
    early: AtomicUsize,
}

impl HeldBack {
    pub(super) fn new(name: &'static str, capacity: usize) -> Self {
        Self { name, capacity, early: AtomicUsize::new(0) }
    }

    pub(super) fn get(&self) -> usize {
        self.early.load(Relaxed)
    }

    pub(super) fn set(&self, early: usize) {
        self.early.store(early, Relaxed);
    }
}

impl Observed for HeldBack {
    fn observe(&self, into: &mut Statistics) {
        let statistics = OrderedStatistics { held_back: self.get() as u64, capacity: self.capacity as u64 };
        into.add(self.name, statistics);
    }
}
