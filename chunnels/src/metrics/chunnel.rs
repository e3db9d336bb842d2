//! The Chunnel itself.

use super::counters::Counters;
use super::{MetricsConnection, Snapshot, TARGET};
use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Counts what passes. See the [module](crate::metrics).
///
/// A clone counts into the same numbers: keep one to read them.
#[derive(Clone, Identity)]
#[chunnel(one_sided)]
pub struct Metrics {
    position: Cow<'static, str>,
    counters: Arc<Counters>,
}

impl Metrics {
    /// Counts from zero, under a name that says where in the stack it stands.
    pub fn new(position: impl Into<Cow<'static, str>>) -> Self {
        Self { position: position.into(), counters: Arc::default() }
    }

    /// Its name.
    pub fn position(&self) -> &str {
        &self.position
    }

    /// What was counted so far. Numbers that change meanwhile may be of slightly different moments.
    pub fn snapshot(&self) -> Snapshot {
        self.counters.snapshot()
    }

    /// Says to `tracing` what was counted so far, as one event.
    pub fn trace(&self) {
        let Snapshot { connections, sent, received, latency } = self.snapshot();
        tracing::info!(
            target: TARGET,
            position = %self.position,
            connections,
            sent = sent.messages,
            sent_bytes = sent.bytes,
            sent_errors = sent.errors,
            received = received.messages,
            received_bytes = received.bytes,
            received_errors = received.errors,
            send_mean = ?latency.mean(),
            send_p50 = ?latency.quantile(0.5),
            send_p99 = ?latency.quantile(0.99),
            "totals"
        );
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("position", &self.position).finish_non_exhaustive()
    }
}

impl<Inner: Connection> Chunnel<Inner> for Metrics {
    type Connection = MetricsConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(MetricsConnection::new(inner, self.position.clone(), self.counters.clone()))
    }
}
