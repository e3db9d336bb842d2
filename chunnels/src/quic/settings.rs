//! The settings of a connection.

use super::Certificates;
use std::time::Duration;

/// The settings that the methods of [`Quic`](super::Quic) choose.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) certificates: Certificates,
    /// The largest packet.
    pub(super) packet: u16,
    /// The idle time-out.
    pub(super) idle: Duration,
}
