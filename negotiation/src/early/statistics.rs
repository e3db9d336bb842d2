//! The outcome of a first flight, for people who ask what a connection does.

use crate::ZeroRtt;
use bertha_core::statistics::{LayerStatistics, Value};

/// The outcome of the first flight of a connection that [`Connect::early`](crate::Connect::early) made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EarlyStatistics {
    /// The outcome so far.
    pub zero_rtt: ZeroRtt,
}

impl LayerStatistics for EarlyStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let (outcome, taken, resent) = match self.zero_rtt {
            ZeroRtt::NotTried(_) => ("not tried", 0, 0),
            ZeroRtt::Unanswered => ("unanswered", 0, 0),
            ZeroRtt::Taken(messages) => ("taken", messages, 0),
            ZeroRtt::NotTaken => ("not taken", 0, 0),
            ZeroRtt::Resent(messages) => ("another stack", 0, messages),
        };
        vec![
            ("first_flight", Value::Text(outcome.into())),
            ("taken_messages", Value::Total(taken as u64)),
            ("resent_messages", Value::Total(resent as u64)),
        ]
    }
}
