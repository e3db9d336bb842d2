//! The part of a connection that its task shares.

use super::flow::Flow;
use bertha_core::{Base, Connection, Runtime};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The part of a connection that its task shares.
pub(super) struct PoliciesShared<Inner> {
    pub(super) inner: Inner,
    pub(super) flow: Arc<Flow>,
    pub(super) start: Instant,
}

impl<Inner: Connection> PoliciesShared<Inner> {
    /// Returns the time since the beginning of all connections, by the clock of the runtime.
    pub(super) fn now(&self) -> Duration {
        self.inner.base().runtime().now().saturating_duration_since(self.start)
    }

    /// Returns a time by the clock of the runtime, if it has one so late.
    pub(super) fn at(&self, due: Duration) -> Option<Instant> {
        self.start.checked_add(due)
    }
}
