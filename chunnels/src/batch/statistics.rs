//! The batches of an end, for people who ask what it does.

use bertha_core::statistics::{LayerStatistics, Value};

/// The messages that this end of a connection of [`Batch`](super::Batch) sends: totals since it began, and the current
/// state. Each batch had `messages / batches` messages on average.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchStatistics {
    /// Batches that wait to be sent: full batches, of which there are at most 16, and the batch that is being filled.
    pub to_send_batches: u64,
    /// Messages that were put into batches.
    pub messages: u64,
    /// Batches that were handed to the connection below.
    pub batches: u64,
    /// Batches that the connection below failed to send, although it went on.
    pub lost_batches: u64,
}

impl LayerStatistics for BatchStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("to_send_batches", Value::Number(self.to_send_batches)),
            ("messages", Value::Total(self.messages)),
            ("batches", Value::Total(self.batches)),
            ("lost_batches", Value::Total(self.lost_batches)),
        ]
    }
}
