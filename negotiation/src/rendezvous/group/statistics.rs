//! The state of a participant.

use bertha_core::statistics::{LayerStatistics, Value};

/// The state of a participant among the others of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupStatistics {
    /// Participants that this participant knows, itself included.
    pub participants: usize,
    /// Round of the stack through which this participant sends.
    pub round: u64,
}

impl LayerStatistics for GroupStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![("participants", Value::Number(self.participants as u64)), ("round", Value::Number(self.round))]
    }
}
