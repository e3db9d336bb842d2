//! The counters of `Metrics`.

use super::families::Families;
use bertha_chunnels::Metrics;
use bertha_chunnels::metrics::Totals;

type Count = fn(&Totals) -> u64;

/// The counters of each direction, with the names of [`prometheus`](bertha_chunnels::metrics::prometheus()).
const COUNTERS: [(&str, &str, Count); 3] = [
    ("bertha_messages_total", "Messages that passed.", |totals| totals.messages),
    ("bertha_bytes_total", "Bytes in messages that passed.", |totals| totals.bytes),
    ("bertha_errors_total", "Calls that failed.", |totals| totals.errors),
];

/// Adds the counters of each position.
pub(super) fn add(positions: &[Metrics], families: &mut Families) {
    for metrics in positions {
        let (position, snapshot) = (("position", metrics.position()), metrics.snapshot());
        for (name, help, count) in COUNTERS {
            for (direction, totals) in [("sent", &snapshot.sent), ("received", &snapshot.received)] {
                families.counter(name, help, &[position, ("direction", direction)], count(totals));
            }
        }
        let help = "Connections with this position in their stack.";
        families.gauge("bertha_position_connections", help, &[position], snapshot.connections as f64);
        let help = "Time until the layers below had taken the message.";
        let latency = &snapshot.latency;
        let times = (latency.octaves(), latency.count(), latency.sum());
        families.histogram("bertha_send_seconds", help, &[position], times);
    }
}
