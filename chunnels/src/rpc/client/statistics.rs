//! The calls of a client, for people who ask what it does.

use bertha_core::statistics::{LayerStatistics, Value};

/// The calls of a [`Multiplexer`](super::Multiplexer): counters since it began, and its current state.
///
/// Slow calls have one of few causes, each with its sign: `waiting` is not zero (the limit is too low for the
/// callers); `under_way` is large (a server or a network that takes its time); neither of them (callers that make
/// few calls).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallStatistics {
    /// Calls that were sent, or wait to be sent, and whose outcome was not taken yet.
    pub under_way: u64,
    /// Maximum number of such calls: the limit of this end, or that of the server if it is less.
    pub limit: u64,
    /// Calls that wait for room among the calls under way.
    pub waiting: u64,
    /// Calls that are over: with a response, failed, or given up by their caller.
    pub ended: u64,
    /// Calls that have failed, by the server, by a deadline, or with the connection.
    pub failed: u64,
    /// Messages that belonged to no call: answers to calls that were given up, mostly.
    pub unexpected: u64,
}

impl LayerStatistics for CallStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("under_way", Value::Number(self.under_way)),
            ("limit", Value::Number(self.limit)),
            ("waiting", Value::Number(self.waiting)),
            ("ended", Value::Total(self.ended)),
            ("failed", Value::Total(self.failed)),
            ("unexpected", Value::Total(self.unexpected)),
        ]
    }
}
