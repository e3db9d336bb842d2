//! What a datapath reports.

use std::time::Duration;

/// What one acknowledgement said, or one expiry of the loss timer, which acknowledges nothing.
///
/// The first eight fields are the `Ack` scope of Table 4.2. Every packet is counted once: when it is first acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ack {
    /// Bytes that were acknowledged in order: nothing older was still outstanding.
    pub bytes_acked: u64,
    /// Packets that were acknowledged in order.
    pub packets_acked: u64,
    /// Bytes that were acknowledged while something older was outstanding.
    pub bytes_misordered: u64,
    /// Packets that were acknowledged while something older was outstanding.
    pub packets_misordered: u64,
    /// Bytes that a router marked as having met congestion. Zero over base connections that don't carry ECN.
    pub ecn_bytes: u64,
    /// Packets that a router marked.
    pub ecn_packets: u64,
    /// Packets that are newly taken for lost.
    pub lost_pkts_sample: u64,
    /// When this is, since the flow began.
    pub now: Duration,
    /// Beyond the table: when the newest packet was sent of those that were just acknowledged, on the clock of
    /// [`now`](Self::now). RFC 9002 compares it with the start of a recovery period, and BBR counts rounds by it.
    pub newest_acked_sent: Option<Duration>,
    /// Beyond the table: when the newest packet was sent of those that are newly taken for lost.
    pub newest_lost_sent: Option<Duration>,
}

impl Ack {
    /// Bytes that arrived, in whichever order.
    pub fn bytes_delivered(&self) -> u64 {
        self.bytes_acked + self.bytes_misordered
    }
}

/// How the connection stands, after the acknowledgement that is reported with it.
///
/// The first seven fields are the `Flow` scope of Table 4.2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flow {
    /// Whether everything that was sent over a long time was lost: the persistent congestion of RFC 9002, section 7.6,
    /// which takes the place of TCP's retransmission time-out.
    pub was_timeout: bool,
    /// The latest sample of the round-trip time, in microseconds; zero before the first.
    pub rtt_sample_us: u64,
    /// The rate at which what was just acknowledged had been sent, in bytes per second; zero without a sample.
    pub rate_outgoing: u64,
    /// The rate at which it was acknowledged, in bytes per second; zero without a sample.
    pub rate_incoming: u64,
    /// Bytes that were sent and are neither acknowledged nor taken for lost.
    pub bytes_in_flight: u64,
    /// Packets that were sent and are neither acknowledged nor taken for lost.
    pub packets_in_flight: u64,
    /// Beyond the table: whether the sender had less to send than it was allowed, so that the rates say little about the
    /// path, and a window that was not used must not grow (RFC 9002, section 7.8).
    pub is_app_limited: bool,
}
