//! The layers of a connection that tell something about themselves.

use super::{DropCounter, Drops, Observed, Statistics};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The place where the driver of a stack finds the counters and the state of a connection's layers; for
/// drivers alone.
///
/// Its size is bounded by the number of layers that live at one time: the drops of layers that have gone
/// are added up.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct LayerRegistry(Mutex<Registered>);

struct Registered {
    drops: Vec<Counter>,
    gone: Drops,
    /// The layers from the bottom up.
    observed: Vec<Weak<dyn Observed>>,
}

#[derive(Debug)]
struct Counter {
    layer: &'static str,
    reason: &'static str,
    count: DropCounter,
}

impl Default for Registered {
    fn default() -> Self {
        Self::NONE
    }
}

impl Registered {
    const NONE: Self = Self { drops: Vec::new(), gone: Drops::NONE, observed: Vec::new() };

    fn drops(&self) -> Drops {
        let mut drops = self.gone.clone();
        self.drops.iter().for_each(|counter| drops.add(counter.layer, counter.reason, counter.count.get()));
        drops
    }
}

impl LayerRegistry {
    /// Makes a registry without layers.
    pub const fn new() -> Self {
        Self(Mutex::new(Registered::NONE))
    }

    pub(crate) fn counter(&self, layer: &'static str, reason: &'static str) -> DropCounter {
        let mut registered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Registered { drops, gone, .. } = &mut *registered;
        drops.retain(|Counter { layer, reason, count }| {
            let is_live = count.is_live();
            if !is_live {
                gone.add(layer, reason, count.get());
            }
            is_live
        });
        let count = DropCounter::default();
        drops.push(Counter { layer, reason, count: count.clone() });
        count
    }

    /// Adds a layer above the layers that were added before.
    pub fn add(&self, layer: Weak<dyn Observed>) {
        let mut registered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        registered.observed.retain(|layer| layer.strong_count() > 0);
        registered.observed.push(layer);
    }

    /// Returns the counts of dropped messages at this moment.
    pub fn drops(&self) -> Drops {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).drops()
    }

    /// Adds the state of all live layers to the statistics.
    pub fn observe(&self, into: &mut Statistics) {
        let observed: Vec<Arc<dyn Observed>> = {
            let registered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            registered.observed.iter().filter_map(Weak::upgrade).collect()
        };
        // Outside of the lock: dropping the last reference to a layer may register another layer.
        observed.iter().for_each(|layer| layer.observe(into));
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("drops", &self.drops().to_string()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectContext;
    use crate::statistics::{LayerStatistics, Value};

    #[test]
    fn counts_of_layers_that_have_gone_stay() {
        let registry = LayerRegistry::new();
        let context = ConnectContext::<()>::none().with_registry(&registry);
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
        assert_eq!(registry.0.lock().unwrap_or_else(PoisonError::into_inner).drops.len(), 3);
        assert_eq!(registry.drops().to_string(), "Ordered: 105 late, Checksum: 1 damaged");
    }

    #[test]
    fn without_a_driver_a_counter_still_counts() {
        let counter = ConnectContext::<()>::none().counts_drops("Checksum", "damaged");
        counter.add(1);
        assert_eq!(counter.get(), 1);
    }

    #[derive(Debug)]
    struct Held(u64);

    impl LayerStatistics for Held {
        fn values(&self) -> Vec<(&'static str, Value)> {
            vec![("held", Value::Number(self.0))]
        }
    }

    impl Observed for u64 {
        fn observe(&self, into: &mut Statistics) {
            into.add("Number", Held(*self));
        }
    }

    #[test]
    fn a_layer_is_asked_as_long_as_it_lives() {
        let registry = LayerRegistry::new();
        let context = ConnectContext::<()>::none().with_registry(&registry);
        let shown = || {
            let mut statistics = Statistics::default();
            registry.observe(&mut statistics);
            statistics.to_string()
        };
        let lower = Arc::new(1_u64);
        context.observes(&lower);
        for upper in 2..100_u64 {
            let upper = Arc::new(upper);
            context.observes(&upper);
            assert_eq!(shown(), format!("Number: held {upper}\nNumber: held 1"));
        }
        assert_eq!(shown(), "Number: held 1");
        assert!(registry.0.lock().unwrap_or_else(PoisonError::into_inner).observed.len() <= 2);
    }
}
