//! The state of a port, as its connections show it.

use crate::{Counters, PortStatistics};
use bertha_core::statistics::{LayerStatistics, Value};

/// The counters of the port of a connection. All connections over a port share them.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DpdkStatistics {
    /// The port's own counters; `None` if the driver does not count.
    pub port: Option<PortStatistics>,
    /// The frames and messages that the datapath dropped, answered or copied.
    pub counters: Counters,
}

impl LayerStatistics for DpdkStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let mut values = Vec::new();
        if let Some(port) = &self.port {
            values.extend([
                ("frames_received", Value::Total(port.received)),
                ("frames_sent", Value::Total(port.sent)),
                ("missed", Value::Total(port.missed)),
                ("without_buffer", Value::Total(port.no_mbuf)),
                ("receive_errors", Value::Total(port.receive_errors)),
                ("send_errors", Value::Total(port.send_errors)),
            ]);
        }
        let counters = &self.counters;
        values.extend([
            ("dropped_by_stack", Value::Total(counters.stack.dropped())),
            ("unknown", Value::Total(counters.unknown)),
            ("overflow", Value::Total(counters.overflow)),
            ("ring_full", Value::Total(counters.ring_full)),
            ("copied", Value::Total(counters.copied)),
            ("unresolved", Value::Total(counters.unresolved)),
            ("not_sent", Value::Total(counters.not_sent)),
            ("stuck", Value::Total(counters.stuck)),
        ]);
        values
    }
}
