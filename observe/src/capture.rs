//! The state of this process.

use crate::{ConnectionState, LayerState, ListenerState, ProcessState};
use bertha_negotiation::observing::{self, Observation, ObservedConnection, ObservedListener};
use std::time::Instant;

/// Returns the state of this process, which is observed since `began`.
pub(crate) fn capture(program: &str, began: Instant) -> ProcessState {
    let Observation { connections, listeners, ended, .. } = observing::observe();
    let now = Instant::now();
    let left_out = connections.len().saturating_sub(ProcessState::MOST_CONNECTIONS) as u64;
    let shown = connections.into_iter().take(ProcessState::MOST_CONNECTIONS);
    ProcessState {
        format: ProcessState::FORMAT,
        program: program.into(),
        pid: std::process::id(),
        age_seconds: seconds(began, now),
        connections: shown.map(|it| ConnectionState::of(&it, now)).collect(),
        left_out,
        ended: ended.connections,
        listeners: listeners.iter().map(ListenerState::of).collect(),
    }
}

/// Returns the seconds between two moments, to the millisecond.
fn seconds(since: Instant, now: Instant) -> f64 {
    now.saturating_duration_since(since).as_millis() as f64 / 1e3
}

impl ConnectionState {
    fn of(connection: &ObservedConnection, now: Instant) -> Self {
        let ObservedConnection { number, since, local, peer, agreement, statistics, .. } = connection;
        let stack: Vec<_> = agreement.chunnels().collect();
        Self {
            number: *number,
            age_seconds: seconds(*since, now),
            local: local.to_string(),
            peer: peer.to_string(),
            stack: stack.join(" / "),
            changes: agreement.round(),
            agreement: agreement.to_string(),
            layers: LayerState::all(statistics),
        }
    }
}

impl ListenerState {
    fn of(listener: &ObservedListener) -> Self {
        let ObservedListener { number, local, statistics, .. } = listener;
        Self { number: *number, local: local.to_string(), layers: LayerState::all(statistics) }
    }
}
