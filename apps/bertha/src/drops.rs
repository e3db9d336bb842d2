//! The report of dropped messages, in its printed form.

use bertha::core::Drops;
use serde::Serialize;

/// Messages that a layer has dropped for a single reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Row {
    layer: &'static str,
    reason: &'static str,
    messages: u64,
}

/// Returns the reasons that occurred.
pub(crate) fn rows(drops: &Drops) -> Vec<Row> {
    let occurred = drops.iter().filter(|dropped| dropped.messages > 0);
    occurred
        .map(|dropped| Row { layer: dropped.layer, reason: dropped.reason, messages: dropped.messages })
        .collect()
}
