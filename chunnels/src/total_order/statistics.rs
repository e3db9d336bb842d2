//! The messages that wait for their turn, for people who ask what a connection does.

use bertha_core::statistics::{LayerStatistics, Value};

/// The received messages of a connection of [`ReceiverOrdered`](super::ReceiverOrdered) or
/// [`SequencerOrdered`](super::SequencerOrdered).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TotalOrderStatistics {
    /// Sequences of messages that are known: one of each sender, or, at an end that is not the sequencer, one of the
    /// sequencer.
    pub sequences: u64,
    /// Messages that have arrived before an earlier message of their sequence, and wait for it.
    pub held_back: u64,
    /// Maximum number of such messages in a sequence.
    pub capacity: u64,
    /// Messages whose turn has come, and that wait for the application of this end.
    pub to_receive_messages: u64,
    /// Number of times that missing messages were skipped.
    pub gaps_skipped: u64,
    /// True if this end decides about the order.
    pub leads: bool,
}

impl LayerStatistics for TotalOrderStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("sequences", Value::Number(self.sequences)),
            ("held_back", Value::Number(self.held_back)),
            ("capacity", Value::Number(self.capacity)),
            ("to_receive_messages", Value::Number(self.to_receive_messages)),
            ("gaps_skipped", Value::Total(self.gaps_skipped)),
            ("leads", Value::Is(self.leads)),
        ]
    }
}
