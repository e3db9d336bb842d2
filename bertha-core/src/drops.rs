//! Dropped messages, by layer and reason.

use std::fmt;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A counter of the messages that one layer of one connection drops for one reason: made by
/// [`ConnectContext::counts_drops`](crate::ConnectContext::counts_drops). Clones share the count.
///
/// Each dropped message costs one atomic addition; a message that passes costs nothing.
#[derive(Debug, Clone, Default)]
pub struct DropCounter(Arc<AtomicU64>);

impl DropCounter {
    /// Adds `messages` to the count.
    pub fn add(&self, messages: u64) {
        self.0.fetch_add(messages, Relaxed);
    }

    /// Returns the number of messages that were counted so far.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The messages that a layer has dropped for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// The Chunnel, or the part of the connection below the stack.
    pub layer: &'static str,
    /// The reason, in a few words.
    pub reason: &'static str,
    /// The number of messages.
    pub messages: u64,
}

/// The messages that a connection has dropped, by layer and reason. The reports of several connections add
/// up.
///
/// Reasons that never occurred are listed with zero. Losses in the network are not included, since no end
/// sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drops(Vec<Dropped>);

impl Drops {
    /// Adds `messages` to the count of this layer and reason.
    pub fn add(&mut self, layer: &'static str, reason: &'static str, messages: u64) {
        match self.0.iter_mut().find(|known| known.layer == layer && known.reason == reason) {
            Some(known) => known.messages += messages,
            None => self.0.push(Dropped { layer, reason, messages }),
        }
    }

    /// Iterates over the layers and reasons, in the order in which the layers were built, from the bottom up.
    pub fn iter(&self) -> impl Iterator<Item = &Dropped> {
        self.0.iter()
    }

    /// Returns the number of all dropped messages.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|dropped| dropped.messages).sum()
    }
}

impl AddAssign<&Drops> for Drops {
    fn add_assign(&mut self, other: &Drops) {
        other.0.iter().for_each(|dropped| self.add(dropped.layer, dropped.reason, dropped.messages));
    }
}

/// Shows the counts in one line, without the reasons that never occurred.
impl fmt::Display for Drops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for Dropped { layer, reason, messages } in self.0.iter().filter(|dropped| dropped.messages > 0) {
            write!(f, "{separator}{layer}: {messages} {reason}")?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

/// The place where the driver of a stack finds the counters of a connection's layers; for drivers alone.
///
/// Its size is bounded by the number of layers that live at one time: the counters of layers that have gone
/// are added up.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct DropRegistry(Mutex<Counters>);

#[derive(Debug)]
struct Counters {
    live: Vec<Counter>,
    gone: Drops,
}

#[derive(Debug)]
struct Counter {
    layer: &'static str,
    reason: &'static str,
    count: DropCounter,
}

impl Default for Counters {
    fn default() -> Self {
        Self::NONE
    }
}

impl Counters {
    const NONE: Self = Self { live: Vec::new(), gone: Drops(Vec::new()) };
}

impl DropRegistry {
    /// Makes a registry without counters.
    pub const fn new() -> Self {
        Self(Mutex::new(Counters::NONE))
    }

    pub(crate) fn counter(&self, layer: &'static str, reason: &'static str) -> DropCounter {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Counters { live, gone } = &mut *counters;
        live.retain(|Counter { layer, reason, count }| {
            let is_live = Arc::strong_count(&count.0) > 1;
            if !is_live {
                gone.add(layer, reason, count.get());
            }
            is_live
        });
        let count = DropCounter::default();
        live.push(Counter { layer, reason, count: count.clone() });
        count
    }

    /// Returns the counts at this moment.
    pub fn drops(&self) -> Drops {
        let counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut drops = counters.gone.clone();
        counters
            .live
            .iter()
            .for_each(|counter| drops.add(counter.layer, counter.reason, counter.count.get()));
        drops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectContext;

    #[test]
    fn counts_of_layers_that_have_gone_stay() {
        let registry = DropRegistry::new();
        let context = ConnectContext::<()>::none().with_drops(&registry);
        let first = context.counts_drops("Ordered", "late");
        first.add(2);
        drop(first);
        let second = context.counts_drops("Ordered", "late");
        second.clone().add(3);
        let other = context.counts_drops("Checksum", "damaged");
        assert_eq!(registry.drops().to_string(), "Ordered: 5 late");
        other.add(1);
        assert_eq!(registry.drops().total(), 6);
        for _ in 0..100 {
            context.counts_drops("Ordered", "late").add(1);
        }
        assert_eq!(registry.0.lock().unwrap_or_else(PoisonError::into_inner).live.len(), 3);
        assert_eq!(registry.drops().to_string(), "Ordered: 105 late, Checksum: 1 damaged");
    }

    #[test]
    fn drops_of_several_connections_add_up() {
        let mut all = Drops::default();
        assert_eq!(all.to_string(), "none");
        let mut one = Drops::default();
        one.add("Link", "forged", 1);
        one.add("Link", "late", 0);
        all += &one;
        all += &one;
        assert_eq!((all.to_string(), all.iter().count()), ("Link: 2 forged".into(), 2));
    }

    #[test]
    fn without_a_driver_a_counter_still_counts() {
        let counter = ConnectContext::<()>::none().counts_drops("Checksum", "damaged");
        counter.add(1);
        assert_eq!(counter.get(), 1);
    }
}
