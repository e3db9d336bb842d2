//! The requests of a connection, for people who ask what it does.

use super::Requests;
use bertha_core::Statistics;
use bertha_core::statistics::{LayerStatistics, Observed, Value};
use parking_lot::Mutex;
use std::time::Duration;

/// The requests of a connection of [`Retry`](super::Retry): totals since it began, and the current state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryStatistics {
    /// Requests that wait for a reply.
    pub under_way: u64,
    /// Number of requests that may be in the network at once. It falls when replies are missing.
    pub window: u64,
    /// Requests that were sent again.
    pub resent: u64,
    /// Requests that were given up, since no reply came to any of their attempts.
    pub given_up: u64,
    /// The smoothed round-trip time of requests and replies; zero before the first reply.
    pub rtt: Duration,
}

impl LayerStatistics for RetryStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("under_way", Value::Number(self.under_way)),
            ("window", Value::Number(self.window)),
            ("resent", Value::Total(self.resent)),
            ("given_up", Value::Total(self.given_up)),
            ("rtt", Value::Time(self.rtt)),
        ]
    }
}

/// The requests in flight, which the connection shares with the registry of its layers. Locked for single steps,
/// never across an await.
pub(super) struct SharedRequests<T>(pub(super) Mutex<Requests<T>>);

impl<T: Send + 'static> Observed for SharedRequests<T> {
    fn observe(&self, into: &mut Statistics) {
        let requests = self.0.lock();
        let statistics = RetryStatistics {
            under_way: requests.len() as u64,
            window: requests.window() as u64,
            resent: requests.resent(),
            given_up: requests.given_up(),
            rtt: requests.round_trip().unwrap_or_default(),
        };
        drop(requests);
        into.add("Retry", statistics);
    }
}
