//! The counters and the state of a connection.

use bertha_core::statistics::{LayerStatistics, Value};
use std::time::Duration;

/// Counters since the connection began, and its current state.
///
/// A slow transfer has one of few causes, each with its sign: `packets_lost` grows (loss); `bytes_in_flight` is
/// about `window` (a small window); `is_held_by_peer` is true (a peer that does not receive);
/// `to_receive_messages` is large (an application of this end that does not receive); `is_cut` is true (a path
/// that loses large packets); none of them (an application that sends little).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReliableStatistics {
    // Counters.
    /// Packets sent, acknowledgements and repetitions included.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Datagrams that arrived at the peer with a mark for congestion, as the peer reports. A packet that the
    /// datapath sends in pieces is several datagrams.
    pub packets_marked: u64,
    /// Packets received undamaged.
    pub packets_received: u64,
    /// Messages that were sent again, since they were lost.
    pub messages_repeated: u64,
    /// Times at which an acknowledgement was overdue, and the peer was probed.
    pub timeouts: u64,
    /// Packets dropped as damaged or malformed.
    pub damaged: u64,
    /// Packets that arrived again, and messages that arrived again. A repeated packet counts once for itself,
    /// and once for each of its messages.
    pub duplicates: u64,

    // The current state.
    /// The congestion window, in bytes.
    pub window: u64,
    /// The pacing rate, in bytes per second; [`u64::MAX`] if the flow is not paced.
    pub rate: u64,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// The smoothed round-trip time; 333 ms before the first sample.
    pub rtt: Duration,
    /// The shortest round-trip time; zero before the first sample.
    pub min_rtt: Duration,
    /// Messages of the application that the peer has not acknowledged yet, sent or not.
    pub to_send_messages: u64,
    /// Bytes of these messages.
    pub to_send_bytes: u64,
    /// True if a message waits for the peer's application, which has to receive earlier messages first.
    pub is_held_by_peer: bool,
    /// Messages that have arrived and wait for the application of this end.
    pub to_receive_messages: u64,
    /// The size up to which short messages share a packet, in bytes.
    pub packet: u64,
    /// True if packets beyond 1,200 bytes leave in pieces, since the path has lost all of them.
    pub is_cut: bool,
}

impl LayerStatistics for ReliableStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let mut values = vec![
            ("rtt", Value::Time(self.rtt)),
            ("min_rtt", Value::Time(self.min_rtt)),
            ("window", Value::Bytes(self.window)),
            ("in_flight", Value::Bytes(self.bytes_in_flight)),
        ];
        values.extend((self.rate < u64::MAX).then_some(("rate", Value::Rate(self.rate))));
        values.extend([
            ("packets_sent", Value::Total(self.packets_sent)),
            ("packets_received", Value::Total(self.packets_received)),
            ("packets_lost", Value::Total(self.packets_lost)),
            ("packets_marked", Value::Total(self.packets_marked)),
            ("messages_repeated", Value::Total(self.messages_repeated)),
            ("timeouts", Value::Total(self.timeouts)),
            ("damaged", Value::Total(self.damaged)),
            ("duplicates", Value::Total(self.duplicates)),
            ("to_send_messages", Value::Number(self.to_send_messages)),
            ("to_send", Value::Bytes(self.to_send_bytes)),
            ("held_by_peer", Value::Is(self.is_held_by_peer)),
            ("to_receive_messages", Value::Number(self.to_receive_messages)),
            ("packet", Value::Bytes(self.packet)),
            ("cut", Value::Is(self.is_cut)),
        ]);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_is_not_paced_has_no_rate() {
        let has_rate = |rate| {
            let statistics = ReliableStatistics { rate, ..ReliableStatistics::default() };
            statistics.values().iter().any(|(name, _)| *name == "rate")
        };
        assert!(has_rate(1_000) && !has_rate(u64::MAX));
    }
}
