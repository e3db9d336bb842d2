//! The signals of a transport.

use std::time::Duration;

/// The signals of one acknowledgement, or of one expiry of the loss timer, which acknowledges nothing.
///
/// The first eight fields are the `Ack` scope of Table 4.2. Every packet is counted once, when it is first acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ack {
    /// Bytes that were acknowledged in order: no older packet was outstanding.
    pub bytes_acked: u64,
    /// Packets that were acknowledged in order.
    pub packets_acked: u64,
    /// Bytes that were acknowledged while an older packet was outstanding.
    pub bytes_misordered: u64,
    /// Packets that were acknowledged while an older packet was outstanding.
    pub packets_misordered: u64,
    /// Bytes in packets that a router marked for congestion, as the peer reports. Zero unless the transport
    /// and the datapath carry marks.
    pub ecn_bytes: u64,
    /// Packets that a router marked; packets that carry acknowledgements alone count too.
    pub ecn_packets: u64,
    /// Packets that were just declared lost.
    pub lost_pkts_sample: u64,
    /// The current time, since the flow began.
    pub now: Duration,
    /// Beyond the table: the time at which the newest packet just acknowledged was sent, on the clock of
    /// [`now`](Self::now). RFC 9002 compares it with the start of a recovery period, and BBR counts round trips by it.
    pub newest_acked_sent: Option<Duration>,
    /// Beyond the table: the time at which the newest packet just declared lost was sent.
    pub newest_lost_sent: Option<Duration>,
    /// Beyond the table: the average time by which the packets just acknowledged were sent before the newest
    /// of them. It grows where packets overtake each other and where acknowledgements are gathered or lost,
    /// and not with the queue.
    pub spread: Duration,
}

impl Ack {
    /// Bytes that were acknowledged, in any order.
    pub fn bytes_delivered(&self) -> u64 {
        self.bytes_acked + self.bytes_misordered
    }
}

/// The state of the connection after the acknowledgement that is reported with it.
///
/// The first seven fields are the `Flow` scope of Table 4.2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flow {
    /// True if all packets over a long time were lost: the persistent congestion of RFC 9002, section 7.6,
    /// which replaces TCP's retransmission time-out.
    pub was_timeout: bool,
    /// The latest sample of the round-trip time, in microseconds; zero before the first.
    pub rtt_sample_us: u64,
    /// The rate at which the bytes just acknowledged were sent, in bytes per second; zero without a sample.
    pub rate_outgoing: u64,
    /// The rate at which these bytes were acknowledged, in bytes per second; zero without a sample.
    pub rate_incoming: u64,
    /// Bytes that were sent and are neither acknowledged nor lost.
    pub bytes_in_flight: u64,
    /// Packets that were sent and are neither acknowledged nor lost.
    pub packets_in_flight: u64,
    /// Beyond the table: true if the sender had less to send than allowed when the packets just acknowledged were sent, or shortly
    /// before. The rates then are lower bounds.
    pub is_app_limited: bool,
    /// Beyond the table: true if the sender had less to send than allowed, and the window was full at no time since the packets just
    /// acknowledged were sent. The window must not grow then (RFC 9002, section 7.8); one that was full once in a round trip has
    /// been tried, also after a pause.
    pub is_window_unused: bool,
    /// Beyond the table: the bytes of other senders, which have congestion controls of their own, that wait to be sent: what a sendbox
    /// holds. Zero for a connection.
    pub bytes_pending: u64,
}
