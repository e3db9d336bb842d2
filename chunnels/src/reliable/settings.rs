//! The settings of a connection.

#[cfg(feature = "qlog")]
use super::qlog::Qlog;
use std::time::Duration;

/// The settings that the methods of [`Reliable`](super::Reliable) choose.
#[derive(Debug, Clone)]
pub(crate) struct ReliableSettings {
    pub(super) packet: usize,
    pub(crate) messages: usize,
    pub(super) bytes: usize,
    pub(super) idle: Duration,
    /// True if routers may mark packets for congestion.
    pub(super) ecn: bool,
    #[cfg(feature = "qlog")]
    pub(super) qlog: Option<Qlog>,
}

#[cfg(feature = "qlog")]
impl ReliableSettings {
    /// Returns the settings of an end in this role.
    pub(super) fn seen_as(self, role: bertha_core::Role) -> Self {
        Self { qlog: self.qlog.map(|qlog| qlog.seen_as(role)), ..self }
    }
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
            #[cfg(feature = "qlog")]
            qlog: None,
        }
    }
}
