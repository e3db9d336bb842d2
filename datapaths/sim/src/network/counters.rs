//! The counts of datagrams.

/// Counts of datagrams, over all links since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Handed to the network by a connection.
    pub sent: u64,
    /// Handed to a connection or put into an accept backlog.
    pub delivered: u64,
    /// Lost by [`Link::loss`](crate::Link::loss) or [`Path::loss`](crate::Path::loss); over streams, sent again after that.
    pub lost: u64,
    /// Arrived twice.
    pub duplicated: u64,
    /// Sent on a detour.
    pub reordered: u64,
    /// Changed or cut short.
    pub corrupted: u64,
    /// Dropped because the hosts were cut off from each other; over streams, sent again after that.
    pub cut: u64,
    /// Dropped because the queue of a [`Bottleneck`](crate::Bottleneck) or an [`Emulator`](crate::Emulator) was full.
    pub queue_full: u64,
    /// Marked for congestion by an [`Emulator`](crate::Emulator).
    pub marked: u64,
    /// Dropped by the tap.
    pub tapped: u64,
    /// Put on the wire by [`Network::inject`](crate::Network::inject).
    pub injected: u64,
    /// Dropped because the receiving end had closed the connection.
    pub closed: u64,
    /// Dropped because nothing was bound to the port.
    pub closed_port: u64,
    /// Dropped because the receiving connection's queue was full.
    pub overflowed: u64,
    /// Dropped because the listener's accept backlog was full.
    pub refused: u64,
}
