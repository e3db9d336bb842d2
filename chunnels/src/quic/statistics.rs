//! The counters and the state of a connection.

use super::stream::{QUEUE, StreamShared};
use bertha_core::Statistics;
use bertha_core::statistics::{LayerStatistics, Observed, Value};
use std::time::Duration;
use tokio::sync::mpsc::WeakSender;

/// Counters since the connection began, and its current state, as `quinn` counts.
///
/// A slow transfer has one of few causes, each with its sign: `packets_lost` grows (loss); `window` divided by
/// `rtt` is about the rate of the transfer (a small window); `blocked` grows (a peer that does not receive);
/// `to_receive_messages` is large (an application of this end that does not receive); `to_send_messages` is
/// zero (an application that sends little).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuicStatistics {
    // Counters.
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Bytes of the packets declared lost.
    pub bytes_lost: u64,
    /// Times at which the window fell, because of loss or of marks for congestion.
    pub congestion_events: u64,
    /// Datagrams received, each of which may hold several packets.
    pub datagrams_received: u64,
    /// Bytes of all datagrams sent.
    pub bytes_sent: u64,
    /// Bytes of all datagrams received.
    pub bytes_received: u64,
    /// Times at which this end told the peer that it could send no more until the peer receives.
    pub blocked: u64,

    // The current state.
    /// The congestion window, in bytes.
    pub window: u64,
    /// The smoothed round-trip time.
    pub rtt: Duration,
    /// The shortest round-trip time.
    pub min_rtt: Duration,
    /// The size of the largest packet, in bytes.
    pub packet: u64,
    /// Messages that wait for room in the stream of this end.
    pub to_send_messages: u64,
    /// Messages that have arrived and wait for the application of this end.
    pub to_receive_messages: u64,
}

impl LayerStatistics for QuicStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("rtt", Value::Time(self.rtt)),
            ("min_rtt", Value::Time(self.min_rtt)),
            ("window", Value::Bytes(self.window)),
            ("packets_sent", Value::Total(self.packets_sent)),
            ("packets_lost", Value::Total(self.packets_lost)),
            ("lost", Value::TotalBytes(self.bytes_lost)),
            ("congestion_events", Value::Total(self.congestion_events)),
            ("datagrams_received", Value::Total(self.datagrams_received)),
            ("sent", Value::TotalBytes(self.bytes_sent)),
            ("received", Value::TotalBytes(self.bytes_received)),
            ("blocked", Value::Total(self.blocked)),
            ("to_send_messages", Value::Number(self.to_send_messages)),
            ("to_receive_messages", Value::Number(self.to_receive_messages)),
            ("packet", Value::Bytes(self.packet)),
        ]
    }
}

impl Observed for StreamShared {
    fn observe(&self, into: &mut Statistics) {
        let stats = self.connection.stats();
        let statistics = QuicStatistics {
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            bytes_lost: stats.path.lost_bytes,
            congestion_events: stats.path.congestion_events,
            datagrams_received: stats.udp_rx.datagrams,
            bytes_sent: stats.udp_tx.bytes,
            bytes_received: stats.udp_rx.bytes,
            blocked: stats.frame_tx.data_blocked + stats.frame_tx.stream_data_blocked,
            window: stats.path.cwnd,
            rtt: stats.path.rtt,
            min_rtt: stats.path.min_rtt,
            packet: stats.path.current_mtu.into(),
            to_send_messages: queued(&self.outgoing),
            to_receive_messages: queued(&self.incoming),
        };
        into.add("Quic", statistics);
    }
}

/// Returns the number of entries in a queue; zero once its senders have gone.
fn queued<T>(queue: &WeakSender<T>) -> u64 {
    queue.upgrade().map_or(0, |queue| (QUEUE - queue.capacity().min(QUEUE)) as u64)
}
