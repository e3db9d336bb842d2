//! The counters and the state of a connection.

use std::time::Duration;

/// Counters since the connection began, and its current state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
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
    /// Packets dropped as damaged or malformed.
    pub damaged: u64,
    /// Packets that arrived again, and messages that arrived again. A repeated packet counts once for itself,
    /// and once for each of its messages.
    pub duplicates: u64,

    // The current state.
    /// The congestion window, in bytes.
    pub window: u64,
    /// The pacing rate, in bytes per second.
    pub rate: u64,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// The smoothed round-trip time; 333 ms before the first sample.
    pub rtt: Duration,
}
