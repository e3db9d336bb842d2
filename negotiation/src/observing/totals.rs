//! The totals of connections that have ended.

use bertha_core::statistics::Value;
use bertha_core::{Drops, Statistics};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The totals of connections that have ended, by layer.
///
/// Their size is bounded by the number of kinds of layers, whatever the number of connections.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct EndedTotals {
    /// Number of the connections.
    pub connections: u64,
    drops: BTreeMap<(&'static str, &'static str), u64>,
    totals: BTreeMap<(&'static str, &'static str), Value>,
}

/// A total of one kind of layer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Total {
    /// The name of the layer.
    pub layer: &'static str,
    /// The name of the value.
    pub name: &'static str,
    /// A [`Value::Total`] or a [`Value::TotalBytes`].
    pub value: Value,
}

impl EndedTotals {
    pub(super) const NONE: Self = Self { connections: 0, drops: BTreeMap::new(), totals: BTreeMap::new() };

    /// Iterates over the totals, by the name of the layer.
    pub fn iter(&self) -> impl Iterator<Item = Total> {
        let totals = self.totals.iter();
        totals.map(|(&(layer, name), value)| Total { layer, name, value: value.clone() })
    }

    /// Returns the messages that the connections dropped.
    pub fn drops(&self) -> Drops {
        let mut drops = Drops::default();
        self.drops.iter().for_each(|(&(layer, reason), &messages)| drops.add(layer, reason, messages));
        drops
    }

    /// Adds the totals of a connection. Its states of a moment are left out, and so are the totals of a socket
    /// or port that others use on.
    pub(super) fn add(&mut self, statistics: &Statistics) {
        self.connections += 1;
        for layer in statistics.layers() {
            let values = if layer.shared().is_none() { layer.values() } else { Vec::new() };
            for (name, value) in values {
                if matches!(value, Value::Total(_) | Value::TotalBytes(_)) {
                    match self.totals.entry((layer.name(), name)) {
                        Entry::Vacant(place) => _ = place.insert(value),
                        Entry::Occupied(mut sum) => add(sum.get_mut(), &value),
                    }
                }
            }
            for dropped in layer.drops() {
                *self.drops.entry((dropped.layer, dropped.reason)).or_default() += dropped.messages;
            }
        }
    }
}

/// Adds a total of the same kind.
fn add(sum: &mut Value, value: &Value) {
    match (sum, value) {
        (Value::Total(sum), Value::Total(value)) | (Value::TotalBytes(sum), Value::TotalBytes(value)) => {
            *sum = sum.saturating_add(*value);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::statistics::LayerStatistics;

    #[derive(Debug)]
    struct Sent(u64);

    impl LayerStatistics for Sent {
        fn values(&self) -> Vec<(&'static str, Value)> {
            vec![("sent", Value::Total(self.0)), ("window", Value::Bytes(9))]
        }
    }

    #[test]
    fn totals_add_up_and_states_do_not() {
        let mut ended = EndedTotals::NONE;
        for sent in [3, 4] {
            let mut statistics = Statistics::default();
            statistics.add("Layer", Sent(sent));
            let mut drops = Drops::default();
            drops.add("Layer", "late", 2);
            statistics.add_drops(&drops);
            statistics.add_shared("Socket", &ended, Sent(sent));
            ended.add(&statistics);
        }
        let totals: Vec<_> = ended.iter().collect();
        assert_eq!(totals, [Total { layer: "Layer", name: "sent", value: Value::Total(7) }]);
        assert_eq!((ended.connections, ended.drops().total()), (2, 4));
    }
}
