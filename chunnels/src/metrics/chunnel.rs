//! The Chunnel itself.

use super::counters::Counters;
use super::{MetricsConnection, Snapshot, TARGET};
use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity, debug_fields};
use std::borrow::Cow;
use std::sync::Arc;

/// Counts messages, bytes and errors. See the [module](crate::metrics).
///
/// A clone shares the counters: keep a clone to read them.
#[derive(Clone, Identity)]
#[chunnel(apart = 0, one_sided)]
pub struct Metrics {
    position: Cow<'static, str>,
    counters: Arc<Counters>,
}

impl Metrics {
    /// Makes a Chunnel that counts from zero, at the position in the stack that the name describes.
    pub fn new(position: impl Into<Cow<'static, str>>) -> Self {
        Self { position: position.into(), counters: Arc::default() }
    }

    /// Returns the name of the position.
    pub fn position(&self) -> &str {
        &self.position
    }

    /// Returns the counters at this moment. Counters that change during the call may differ by a few events
    /// from each other.
    pub fn snapshot(&self) -> Snapshot {
        self.counters.snapshot()
    }

    /// Emits the counters as one event of `tracing`.
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

debug_fields!(Metrics { position });

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
