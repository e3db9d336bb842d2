//! The state of a connection that is made again when it is lost.

use super::Reconnecting;
use crate::Negotiated;
use bertha_core::statistics::{LayerStatistics, Value};
use bertha_core::{Connection, Statistics};

/// The connections that were made so far, and the messages whose fate is open.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReconnectingStatistics {
    /// True if there is a connection at this moment.
    pub is_connected: bool,
    /// Connections that were made, the first included.
    pub connections: u64,
    /// Messages that were sent over the connection in use and are not confirmed.
    pub unconfirmed: u64,
}

impl LayerStatistics for ReconnectingStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("connected", Value::Is(self.is_connected)),
            ("connections", Value::Total(self.connections)),
            ("unconfirmed", Value::Number(self.unconfirmed)),
        ]
    }
}

impl<C: Connection> Reconnecting<Negotiated<C>> {
    /// Returns the state at this moment, above the layers of the connection in use, if there is a connection.
    pub fn statistics(&self) -> Statistics {
        let (current, connections, unconfirmed) = {
            let state = self.state();
            (state.current.clone(), state.connections, state.ledger.unconfirmed())
        };
        let is_connected = current.is_some();
        let mut statistics = current.map(|current| current.statistics()).unwrap_or_default();
        statistics.add("Reconnecting", ReconnectingStatistics { is_connected, connections, unconfirmed });
        statistics
    }
}
