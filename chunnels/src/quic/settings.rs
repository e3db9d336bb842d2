//! The settings of a connection.

use std::time::Duration;

/// The settings that the methods of [`Quic`](super::Quic) choose.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The largest packet.
    pub(super) packet: u16,
    /// The idle time-out.
    pub(super) idle: Duration,
}
