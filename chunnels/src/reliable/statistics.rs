//! What a connection can tell of itself.

use std::time::Duration;

/// Counts since the connection began, and how it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Packets sent, acknowledgements and repetitions included.
    pub packets_sent: u64,
    /// Packets taken for lost.
    pub packets_lost: u64,
    /// Packets received undamaged.
    pub packets_received: u64,
    /// Packets dropped since they were damaged or of another format.
    pub damaged: u64,
    /// Packets and messages that arrived again.
    pub duplicates: u64,
    /// How many bytes the congestion control lets be in flight.
    pub window: u64,
    /// How fast packets are sent, in bytes per second.
    pub rate: u64,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// The smoothed round-trip time.
    pub rtt: Duration,
}
