//! The messages of an end of a topic, for people who ask what it does.

use crate::Calls;
use bertha_core::statistics::{LayerStatistics, Value};

/// The messages of an end of a topic: counters since it was opened, and its current state.
///
/// A receiver whose messages come again has one of few causes: `dropped` grows (an application that drops messages
/// without an acknowledgement); `calls.unacknowledged` grows (acknowledgements that come too late, or are lost).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatistics {
    /// The calls of the service's API, and the messages in them.
    pub calls: Calls,
    /// Messages that the application has dropped without an acknowledgement. They are delivered again.
    pub dropped: u64,
    /// Messages that have arrived and wait for the application.
    pub to_receive_messages: u64,
    /// Messages that the application holds and has not acknowledged.
    pub held_messages: u64,
    /// Acknowledgements that wait for a call.
    pub to_acknowledge: u64,
    /// Messages that are to be given back to the service, for another delivery.
    pub to_give_back: u64,
}

impl LayerStatistics for QueueStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("published", Value::Total(self.calls.published)),
            ("received", Value::Total(self.calls.received)),
            ("published_bytes", Value::TotalBytes(self.calls.published_bytes)),
            ("received_bytes", Value::TotalBytes(self.calls.received_bytes)),
            ("calls", Value::Total(self.calls.total())),
            ("to_receive_messages", Value::Number(self.to_receive_messages)),
            ("held_messages", Value::Number(self.held_messages)),
            ("to_acknowledge", Value::Number(self.to_acknowledge)),
            ("to_give_back", Value::Number(self.to_give_back)),
            ("dropped", Value::Total(self.dropped)),
            ("unacknowledged", Value::Total(self.calls.unacknowledged)),
        ]
    }
}
