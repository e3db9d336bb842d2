//! The counts of calls, for Prometheus.

use crate::Operator;
use bertha_core::Error;
use bertha_managed::Counted;
use bertha_program::{Value, Watched};

/// The labels of each series.
const LABELS: [&str; 3] = ["caller", "service", "method"];

/// Adds the counts of calls to the metrics of the program.
///
/// # Errors
/// Errors of [`Watched::counter`].
pub(crate) fn add(watched: &Watched, operator: &Operator) -> Result<(), Error> {
    let [caller, service, method] = LABELS;
    let (by_status, by_time) = (operator.clone(), operator.clone());
    watched.labelled(
        "bertha_calls_total",
        "Calls that have ended, by their outcome.",
        &[caller, service, method, "status"],
        move || by_status.counted().iter().flat_map(statuses).collect(),
    )?;
    watched.labelled("bertha_call_seconds", "Time from a request to the outcome.", &LABELS, move || {
        by_time
            .counted()
            .iter()
            .map(|counted| (labels(counted), Value::Times(Box::new(counted.times.clone()))))
            .collect()
    })
}

fn statuses(counted: &Counted) -> impl Iterator<Item = (Vec<String>, Value)> {
    counted.calls.iter().map(|(status, count)| {
        let mut labels = labels(counted);
        labels.push(status.name().to_owned());
        (labels, Value::Counter(*count))
    })
}

fn labels(counted: &Counted) -> Vec<String> {
    vec![counted.caller.to_string(), counted.service.to_string(), counted.method.clone()]
}
