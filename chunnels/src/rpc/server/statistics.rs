//! The calls of a server, for people who ask what it does.

use crate::rpc::FailureKind;
use bertha_core::statistics::{LayerStatistics, Value};

/// The calls that a [`ServedCalls`](super::ServedCalls) counts: totals since it was made, and the current state.
///
/// Slow answers have one of few causes, each with its sign: `refused` grows (the limit of
/// [`concurrency`](super::Serve::concurrency) is too low for the clients); `to_send_answers` is not zero (clients that do
/// not read); `under_way` is large (handlers that take their time); none of them (clients that make few calls).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServeStatistics {
    /// Calls that have a handler and no outcome.
    pub under_way: u64,
    /// Streams of responses that have not ended; their calls are among those under way.
    pub streams: u64,
    /// Answers that wait because their client does not read.
    pub to_send_answers: u64,
    /// Bytes of such answers.
    pub to_send_bytes: u64,
    /// Calls that were answered by a response or by a whole stream.
    pub answered: u64,
    /// Calls that have failed, by the kind of the failure. Kinds that never occurred are missing.
    pub failed: Vec<(FailureKind, u64)>,
    /// Calls that were refused, since as many calls of their client were under way as may be, or since the server shuts
    /// down.
    pub refused: u64,
    /// Calls that their client gave up.
    pub cancelled: u64,
    /// Calls whose connection ended before they had an outcome.
    pub abandoned: u64,
    /// Messages that belonged to no call: calls that came twice or after their cancellation, and messages that only a
    /// server sends.
    pub unexpected: u64,
}

impl LayerStatistics for ServeStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let mut values = vec![
            ("under_way", Value::Number(self.under_way)),
            ("streams", Value::Number(self.streams)),
            ("to_send_answers", Value::Number(self.to_send_answers)),
            ("to_send_bytes", Value::Bytes(self.to_send_bytes)),
            ("answered", Value::Total(self.answered)),
            ("refused", Value::Total(self.refused)),
            ("cancelled", Value::Total(self.cancelled)),
            ("abandoned", Value::Total(self.abandoned)),
            ("unexpected", Value::Total(self.unexpected)),
        ];
        values.extend(self.failed.iter().map(|&(kind, calls)| (failed_as(kind), Value::Total(calls))));
        values
    }
}

/// Returns the name of the count of calls that have failed with this kind.
fn failed_as(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Overloaded => "failed_overloaded",
        FailureKind::TimedOut => "failed_timed_out",
        FailureKind::UnknownMethod => "failed_unknown_method",
        FailureKind::Malformed => "failed_malformed",
        FailureKind::TooLarge => "failed_too_large",
        FailureKind::Failed => "failed_by_service",
        FailureKind::Disconnected => "failed_disconnected",
        FailureKind::Denied => "failed_denied",
        FailureKind::Unavailable => "failed_unavailable",
    }
}
