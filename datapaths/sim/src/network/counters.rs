//! The counts of datagrams.

/// Counts of datagrams, over all links since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Datagrams that a connection handed to the network.
    pub sent: u64,
    /// Datagrams that reached a connection or an accept backlog.
    pub delivered: u64,
    /// Datagrams lost by [`Link::loss`](crate::Link::loss) or [`Path::loss`](crate::Path::loss); streams send
    /// them again.
    pub lost: u64,
    /// Datagrams that arrived twice.
    pub duplicated: u64,
    /// Datagrams that were sent on a detour.
    pub reordered: u64,
    /// Datagrams that were changed or cut short.
    pub corrupted: u64,
    /// Datagrams dropped because the hosts were cut off from each other; streams send them again.
    pub cut: u64,
    /// Datagrams dropped because the queue of a [`Bottleneck`](crate::Bottleneck) or an
    /// [`Emulator`](crate::Emulator) was full.
    pub queue_full: u64,
    /// Datagrams marked for congestion by an [`Emulator`](crate::Emulator).
    pub marked: u64,
    /// Datagrams dropped by the tap.
    pub tapped: u64,
    /// Datagrams put on the wire by [`Network::inject`](crate::Network::inject).
    pub injected: u64,
    /// Datagrams dropped because the receiving end had closed the connection.
    pub closed: u64,
    /// Datagrams dropped because nothing was bound to the port.
    pub closed_port: u64,
    /// Datagrams dropped because the receiving connection's queue was full.
    pub overflowed: u64,
    /// Datagrams dropped because the listener's accept backlog was full.
    pub refused: u64,
}
