//! The layers of all connections.

use super::families::Families;
use bertha_core::statistics::Value;
use bertha_core::{Drops, Statistics};
use bertha_negotiation::observing::{Observation, Total};
use std::collections::{BTreeMap, BTreeSet};

/// The values of one name of one kind of layer, over all connections.
#[derive(Default)]
struct OverConnections {
    total: Option<u64>,
    is_in_bytes: bool,
    /// The unit at the end of the name.
    unit: &'static str,
    states: Vec<f64>,
    /// Number of connections for which a state of yes or no holds.
    holds: Option<u64>,
}

/// The name of a layer, and of a value.
type Key = (&'static str, &'static str);

/// Adds the values and drops of all layers.
pub(super) fn add(observation: &Observation, families: &mut Families) {
    let mut all = BTreeMap::<Key, OverConnections>::new();
    let mut drops = observation.ended.drops();
    for Total { layer, name, value, .. } in observation.ended.iter() {
        all.entry((layer, name)).or_default().add(&value);
    }
    let mut seen = BTreeSet::new();
    for connection in &observation.connections {
        add_connection(&connection.statistics, &mut seen, &mut all, &mut drops);
    }
    for ((layer, name), values) in all {
        values.put(layer, name, families);
    }
    for dropped in drops.iter().filter(|dropped| dropped.messages > 0) {
        let labels = &[("layer", dropped.layer), ("reason", dropped.reason)];
        let help = "Messages that this end dropped.";
        families.counter("bertha_dropped_messages_total", help, labels, dropped.messages);
    }
}

fn add_connection(
    statistics: &Statistics,
    seen: &mut BTreeSet<(&'static str, usize)>,
    all: &mut BTreeMap<Key, OverConnections>,
    drops: &mut Drops,
) {
    for layer in statistics.layers() {
        let is_new = layer.shared().is_none_or(|object| seen.insert((layer.name(), object)));
        if is_new {
            for (name, value) in layer.values() {
                all.entry((layer.name(), name)).or_default().add(&value);
            }
        }
        layer.drops().for_each(|it| drops.add(it.layer, it.reason, it.messages));
    }
}

impl OverConnections {
    fn add(&mut self, value: &Value) {
        match *value {
            Value::Total(number) => self.add_total(number),
            Value::TotalBytes(bytes) => {
                self.is_in_bytes = true;
                self.add_total(bytes);
            }
            Value::Number(number) => self.states.push(number as f64),
            Value::Bytes(bytes) => self.add_state("_bytes", bytes as f64),
            Value::Rate(rate) => self.add_state("_bytes_per_second", rate as f64),
            Value::Time(time) => self.add_state("_seconds", time.as_secs_f64()),
            Value::Is(holds) => *self.holds.get_or_insert(0) += u64::from(holds),
            // A text is no metric.
            _ => {}
        }
    }

    fn add_total(&mut self, number: u64) {
        let total = self.total.get_or_insert(0);
        *total = total.saturating_add(number);
    }

    fn add_state(&mut self, unit: &'static str, state: f64) {
        self.unit = unit;
        self.states.push(state);
    }

    fn put(self, layer: &str, name: &str, families: &mut Families) {
        let Self { total, is_in_bytes, unit, states, holds } = self;
        let subject = format!("{} of {layer}", name.replace('_', " "));
        let start = format!("bertha_{}_{name}", in_snake_case(layer));
        if let Some(total) = total {
            let bytes = if is_in_bytes && !name.ends_with("bytes") { "_bytes" } else { "" };
            let help = format!("{subject}, over all connections.");
            families.counter(&format!("{start}{bytes}_total"), &help, &[], total);
        }
        if let Some(holds) = holds {
            let help = format!("Connections with {subject}.");
            families.gauge(&format!("{start}_connections"), &help, &[], holds as f64);
        }
        if !states.is_empty() {
            let help = format!("{subject} at this moment.");
            let series = [
                ("mean", states.iter().sum::<f64>() / states.len() as f64),
                ("least", states.iter().copied().fold(f64::INFINITY, f64::min)),
                ("greatest", states.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            ];
            for (over, value) in series {
                families.gauge(&format!("{start}{unit}"), &help, &[("over_connections", over)], value);
            }
        }
    }
}

/// Returns the name of a layer as a part of the name of a metric: `maybe_local` for `MaybeLocal`.
fn in_snake_case(layer: &str) -> String {
    let mut name = String::new();
    for c in layer.chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        // A layer of an application may have any name.
        name.push(if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    name
}
