//! The target of events.

/// The target of all events of `tracing`.
pub(super) const TARGET: &str = "bertha::reliable";
