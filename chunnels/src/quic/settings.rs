//! The settings of a connection.

use crate::congestion::Algorithm;
use std::sync::Arc;
use std::time::Duration;

/// The settings that the methods of [`Quic`](super::Quic) choose.
#[derive(Debug, Clone)]
pub(super) struct QuicSettings {
    /// The largest packet.
    pub(super) packet: u16,
    /// The idle time-out.
    pub(super) idle: Duration,
    /// The congestion control, in place of the congestion control of `quinn`.
    pub(super) congestion: Option<Arc<dyn Algorithm>>,
}
