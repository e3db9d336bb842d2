//! The counters and the state of a connection.

use std::time::Duration;

/// Counters since the connection began, and its current state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Packets sent, acknowledgements and repetitions included.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Packets that arrived at the peer with a mark for congestion, as it says.
    pub packets_marked: u64,
    /// Packets received undamaged.
    pub packets_received: u64,
    /// Packets dropped as damaged or malformed.
    pub damaged: u64,
    /// Packets and messages that arrived again.
    pub duplicates: u64,
    /// The congestion window, in bytes.
    pub window: u64,
    /// The pacing rate, in bytes per second.
    pub rate: u64,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// The smoothed round-trip time.
    pub rtt: Duration,
}
