//! The bursts of an end, for people who ask what it does.

use bertha_core::statistics::{LayerStatistics, Value};

/// The messages that this end of a connection of [`Nagle`](super::Nagle) sends: totals since it began, and the current
/// state. A call of the connection below had `messages / bursts` messages on average.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NagleStatistics {
    /// Messages that wait to be sent.
    pub to_send_messages: u64,
    /// Maximum number of such messages.
    pub capacity: u64,
    /// Messages that were handed to the connection below.
    pub messages: u64,
    /// Calls by which messages were handed to the connection below.
    pub bursts: u64,
    /// Bursts that the connection below failed to send, although it went on.
    pub refused_bursts: u64,
}

impl LayerStatistics for NagleStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("to_send_messages", Value::Number(self.to_send_messages)),
            ("capacity", Value::Number(self.capacity)),
            ("messages", Value::Total(self.messages)),
            ("bursts", Value::Total(self.bursts)),
            ("refused_bursts", Value::Total(self.refused_bursts)),
        ]
    }
}
