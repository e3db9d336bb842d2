//! The state of a process, as it goes from the process to those who ask.

use crate::LayerState;
use serde::{Deserialize, Serialize};

/// The connections and listeners of a process at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcessState {
    /// The version of this format: [`FORMAT`](Self::FORMAT).
    pub format: u32,
    /// The name that the program gave itself.
    pub program: String,
    /// The number of the process.
    pub pid: u32,
    /// Time since the process lets itself be observed, in seconds.
    pub age_seconds: f64,
    /// The connections, in the order in which they were made: at most
    /// [`MOST_CONNECTIONS`](Self::MOST_CONNECTIONS).
    pub connections: Vec<ConnectionState>,
    /// Number of further connections, which were left out.
    pub left_out: u64,
    /// Number of connections that have ended.
    pub ended: u64,
    /// The listeners, in the order in which they began.
    pub listeners: Vec<ListenerState>,
}

/// A connection at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConnectionState {
    /// Number of the connection in its process. Numbers are not used again.
    pub number: u64,
    /// Time since the connection was made, in seconds.
    pub age_seconds: f64,
    /// Address of this end.
    pub local: String,
    /// Address of the peer when the connection was made.
    pub peer: String,
    /// The Chunnels in use, top first, separated by ` / `.
    pub stack: String,
    /// Number of changes of the stack so far.
    pub changes: u64,
    /// The agreement and its reasons.
    pub agreement: String,
    /// The layers, from the top of the stack down.
    pub layers: Vec<LayerState>,
}

/// A listener at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListenerState {
    /// Number of the listener in its process. Numbers are not used again.
    pub number: u64,
    /// Address of the listener.
    pub local: String,
    /// The clients so far.
    pub layers: Vec<LayerState>,
}

impl ProcessState {
    /// The version of the format.
    pub const FORMAT: u32 = 1;
    /// The largest number of connections in an answer, so that an answer is bounded.
    pub const MOST_CONNECTIONS: usize = 10_000;
}

impl ConnectionState {
    /// Returns the layer of this name, the topmost if there are several.
    pub fn layer(&self, name: &str) -> Option<&LayerState> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// Returns the value of this name of the topmost layer that has it.
    pub fn value(&self, name: &str) -> Option<&crate::StateValue> {
        self.layers.iter().find_map(|layer| layer.value(name))
    }

    /// Returns the number of messages that the connection has dropped.
    pub fn dropped(&self) -> u64 {
        let drops = self.layers.iter().flat_map(|layer| &layer.drops);
        // A process may answer any numbers.
        drops.fold(0, |sum, drops| sum.saturating_add(drops.messages))
    }
}
