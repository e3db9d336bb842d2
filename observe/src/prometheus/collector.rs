//! The collector.

use super::families::Families;
use super::{layers, listeners, positions};
use bertha_chunnels::Metrics;
use bertha_negotiation::observing::{self, Observation};
use prometheus::core::Desc;
use prometheus::proto::MetricFamily;
use std::collections::{BTreeMap, HashMap};

/// A collector of what this process's connections and listeners tell.
///
/// Connections and listeners that were made before the collector are not counted. Collecting takes the locks of the
/// layers, each for a short time. A registry takes a single such collector.
#[derive(Debug)]
pub struct Collector {
    positions: Vec<Metrics>,
    /// A registry tells collectors from one another by a description.
    description: Desc,
}

impl Collector {
    /// Makes a collector, and lets this process be [observed](bertha_negotiation::observing) from now on.
    #[expect(clippy::missing_panics_doc, reason = "the name and the help are constants that are right")]
    pub fn new() -> Self {
        observing::start();
        let (name, help) = ("bertha_connections_open".into(), "Connections at this moment.".into());
        let description = Desc::new(name, help, vec!["stack".into()], HashMap::new());
        Self { positions: Vec::new(), description: description.expect("a valid description") }
    }

    /// Adds the counters of a position of a stack.
    #[must_use]
    pub fn with(mut self, position: &Metrics) -> Self {
        self.positions.push(position.clone());
        self
    }
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl prometheus::core::Collector for Collector {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.description]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let observation = observing::observe();
        let mut families = Families::default();
        connections(&observation, &mut families);
        layers::add(&observation, &mut families);
        listeners::add(&observation.listeners, &mut families);
        positions::add(&self.positions, &mut families);
        families.done()
    }
}

fn connections(observation: &Observation, families: &mut Families) {
    let mut by_stack = BTreeMap::<String, u64>::new();
    for connection in &observation.connections {
        let stack: Vec<_> = connection.agreement.chunnels().collect();
        *by_stack.entry(stack.join(" / ")).or_default() += 1;
    }
    for (stack, count) in by_stack {
        let labels = &[("stack", &*stack)];
        families.gauge("bertha_connections_open", "Connections at this moment.", labels, count as f64);
    }
    let ended = observation.ended.connections;
    families.counter("bertha_connections_ended_total", "Connections that have ended.", &[], ended);
}
