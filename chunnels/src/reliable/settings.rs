//! The settings of a connection.

use std::time::Duration;

/// The settings that the methods of [`Reliable`](super::Reliable) choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReliableSettings {
    pub(super) packet: usize,
    pub(crate) messages: usize,
    pub(super) bytes: usize,
    pub(super) idle: Duration,
    /// True if routers may mark packets for congestion.
    pub(super) ecn: bool,
}

impl Default for ReliableSettings {
    fn default() -> Self {
        Self {
            // Passes almost every path of the Internet, which carry 1,400 bytes; IPv6 guarantees 1,280.
            packet: 1_352,
            messages: 4_096,
            bytes: 4 * 1024 * 1024,
            idle: Duration::from_secs(30),
            ecn: false,
        }
    }
}
