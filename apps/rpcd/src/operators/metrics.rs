//! The counts of calls, and of parties that are not taken, for Prometheus.

use crate::Operator;
use bertha_core::Error;
use bertha_managed::Counted;
use bertha_program::{Value, Watched};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The labels of each series.
const LABELS: [&str; 4] = ["caller", "service", "method", "peer"];

/// Adds the counts to the metrics of the program.
///
/// # Errors
/// Errors of [`Watched::counter`].
pub(crate) fn add(watched: &Watched, operator: &Operator) -> Result<(), Error> {
    let [caller, service, method, peer] = LABELS;
    let (by_status, by_time, state) = (operator.clone(), operator.clone(), Arc::clone(&operator.state));
    watched.labelled(
        "bertha_calls_total",
        "Calls that have ended, by their outcome.",
        &[caller, service, method, peer, "status"],
        move || by_status.counted().iter().flat_map(statuses).collect(),
    )?;
    watched.labelled("bertha_call_seconds", "Time from a request to the outcome.", &LABELS, move || {
        by_time
            .counted()
            .iter()
            .map(|counted| (labels(counted), Value::Times(Box::new(counted.times.clone()))))
            .collect()
    })?;
    let garbled = Arc::clone(&state);
    watched.counter(
        "bertha_garbled_details_total",
        "Failures of servers of gRPC with details that were too long or not understood.",
        move || garbled.garbled_details.load(Ordering::Relaxed),
    )?;
    watched.labelled(
        "bertha_not_taken_total",
        "Parties that were not taken or lost their place, by the door of the daemon and the reason.",
        &["door", "reason"],
        move || {
            let counts = state.not_taken.counts.read();
            counts.map(|(names, count)| (names.map(str::to_owned).into(), Value::Counter(count))).collect()
        },
    )
}

fn statuses(counted: &Counted) -> impl Iterator<Item = (Vec<String>, Value)> {
    counted.calls.iter().map(|(status, count)| {
        let mut labels = labels(counted);
        labels.push(status.name().to_owned());
        (labels, Value::Counter(*count))
    })
}

fn labels(counted: &Counted) -> Vec<String> {
    let Counted { caller, service, method, peer, .. } = counted;
    vec![caller.to_string(), service.to_string(), method.clone(), peer.to_string()]
}
