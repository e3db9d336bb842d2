//! A connection as a row of the list.

use bertha_observe::{ConnectionState, ProcessState, StateValue};
use bertha_program::escaped;

/// The number of a process, and of a connection in it.
pub(super) type Key = (u32, u64);

/// A connection as a row of the list. Values that no layer tells are `None`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) program: String,
    pub(super) local: String,
    pub(super) peer: String,
    pub(super) stack: String,
    pub(super) age_seconds: f64,
    /// Receptions so far: messages, or bursts of messages.
    pub(super) received: Option<u64>,
    /// Packets so far that this end has sent.
    pub(super) sent: Option<u64>,
    /// Receptions per second.
    pub(super) receive_rate: Option<f64>,
    /// Packets per second.
    pub(super) send_rate: Option<f64>,
    pub(super) rtt_seconds: Option<f64>,
    /// Packets so far that were lost.
    pub(super) lost: Option<u64>,
    /// Messages so far that this end dropped.
    pub(super) dropped: u64,
    pub(super) condition: String,
}

impl Row {
    /// Returns the rows of a process. Rates are not known yet.
    pub(super) fn all(process: &ProcessState) -> impl Iterator<Item = Self> {
        process.connections.iter().map(|connection| Self::of(process, connection))
    }

    fn of(process: &ProcessState, connection: &ConnectionState) -> Self {
        let total = |name| connection.value(name).and_then(StateValue::total);
        Self {
            key: (process.pid, connection.number),
            // The program chose its name, and the peers their Chunnels.
            program: escaped(&process.program),
            local: escaped(&connection.local),
            peer: escaped(&connection.peer),
            stack: escaped(&connection.stack),
            age_seconds: connection.age_seconds,
            received: connection.layer("Link").and_then(|link| link.value("receptions")?.total()),
            sent: total("packets_sent"),
            receive_rate: None,
            send_rate: None,
            rtt_seconds: connection.value("rtt").and_then(StateValue::seconds),
            lost: total("packets_lost"),
            dropped: connection.dropped(),
            condition: condition(connection),
        }
    }
}

/// Returns what is unusual about a connection, in a few words; the most important thing first.
fn condition(connection: &ConnectionState) -> String {
    let is = |name: &str| connection.value(name) == Some(&StateValue::Is(true));
    let mut conditions = Vec::new();
    if connection.value("usable") == Some(&StateValue::Is(false)) {
        conditions.push("unusable".to_owned());
    }
    if is("changing") {
        conditions.push("changing".to_owned());
    }
    if is("held_by_peer") || is("full") {
        conditions.push("peer is slow".to_owned());
    }
    if is("cut") {
        conditions.push("cut packets".to_owned());
    }
    if is("shared_memory") {
        conditions.push("shared memory".to_owned());
    }
    if connection.changes > 0 {
        conditions.push(format!("epoch {}", connection.changes));
    }
    conditions.join(", ")
}
