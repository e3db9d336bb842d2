//! The handshakes, for people who ask what a connection does.

use crate::certificates::side::Side;
use bertha_core::Statistics;
use bertha_core::statistics::{LayerStatistics, Observed, Value};

/// The handshake of a connection of [`Tls`](super::Tls), and the handshakes of all connections of this value of the Chunnel
/// and its clones, which share their sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsStatistics {
    /// True if the handshake of this connection resumed the session of an earlier connection.
    pub is_resumed: bool,
    /// Handshakes of all connections that were done.
    pub handshakes: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed_handshakes: u64,
    /// Handshakes that failed.
    pub failed_handshakes: u64,
}

impl LayerStatistics for TlsStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("resumed", Value::Is(self.is_resumed)),
            ("handshakes", Value::Total(self.handshakes)),
            ("resumed_handshakes", Value::Total(self.resumed_handshakes)),
            ("failed_handshakes", Value::Total(self.failed_handshakes)),
        ]
    }
}

/// The handshake of a connection.
pub(super) struct Handshaken {
    pub(super) side: Side,
    pub(super) is_resumed: bool,
}

impl Observed for Handshaken {
    fn observe(&self, into: &mut Statistics) {
        let [handshakes, resumed_handshakes, failed_handshakes] = self.side.handshakes().get();
        let is_resumed = self.is_resumed;
        into.add("Tls", TlsStatistics { is_resumed, handshakes, resumed_handshakes, failed_handshakes });
    }
}
