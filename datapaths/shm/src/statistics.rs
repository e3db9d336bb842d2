//! The state of a connection through shared memory.

use crate::Waiting;
use bertha_core::statistics::{LayerStatistics, Value};

/// The state of a connection through shared memory at one moment.
///
/// A slow transfer has one of few causes, each with its sign: `outgoing_bytes` is about `ring_bytes` (a peer that
/// does not receive); `to_receive_messages` is large (an application of this end that does not receive); neither
/// of them (an application that sends little).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShmStatistics {
    /// The size of each of the two rings, in bytes.
    pub ring_bytes: u64,
    /// Bytes that the outgoing ring holds for the peer, with headers. The peer releases messages that it has
    /// received by the eighth of a ring.
    pub outgoing_bytes: u64,
    /// True if this end waits for room in the outgoing ring.
    pub is_full: bool,
    /// Messages that have arrived and wait for the application of this end. At most 1,024 messages are counted.
    pub to_receive_messages: u64,
    /// Bytes of these messages, with headers.
    pub to_receive_bytes: u64,
    /// True if the peer's receiver sleeps until this end wakes it.
    pub is_peer_asleep: bool,
    /// The policy by which a receiver of this end waits.
    pub waiting: Waiting,
}

impl LayerStatistics for ShmStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let waiting = match self.waiting {
            Waiting::Park => "parking",
            Waiting::Spin => "polling",
            Waiting::Adaptive { .. } => "polling, then parking",
        };
        vec![
            ("ring", Value::Bytes(self.ring_bytes)),
            ("outgoing", Value::Bytes(self.outgoing_bytes)),
            ("full", Value::Is(self.is_full)),
            ("to_receive_messages", Value::Number(self.to_receive_messages)),
            ("to_receive", Value::Bytes(self.to_receive_bytes)),
            ("peer_asleep", Value::Is(self.is_peer_asleep)),
            ("waiting", Value::Text(waiting.into())),
        ]
    }
}
