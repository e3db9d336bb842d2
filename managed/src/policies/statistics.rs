//! The calls of a connection, for people who ask what it does.

use bertha_core::statistics::{LayerStatistics, Value};

/// The calls of a connection of [`Policies`](super::Policies).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoliciesStatistics {
    /// Calls that have had no outcome.
    pub under_way: u64,
    /// Calls that engines hold.
    pub held: u64,
    /// Bytes of such calls.
    pub held_bytes: u64,
    /// Number of calls that were refused, since the connection began.
    pub refused: u64,
}

impl LayerStatistics for PoliciesStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("under_way", Value::Number(self.under_way)),
            ("held", Value::Number(self.held)),
            ("held_bytes", Value::Bytes(self.held_bytes)),
            ("refused", Value::Total(self.refused)),
        ]
    }
}
