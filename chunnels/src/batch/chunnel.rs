//! The Chunnel itself.

use super::BatchConnection;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use std::time::Duration;

/// Sends messages together. See the [module](crate::batch).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Identity)]
pub struct Batch {
    bytes: usize,
    wait: Duration,
}

impl Batch {
    /// Makes a Chunnel that collects up to 1,300 bytes for up to a millisecond.
    pub fn new() -> Self {
        Self { bytes: 1_300, wait: Duration::from_millis(1) }
    }

    /// Sends a batch once it holds `bytes`, at most the largest message that the connection below carries. A
    /// larger message is sent alone and at once.
    #[must_use]
    pub fn bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// Sends a batch once its first message has waited for this time. With zero a batch holds the messages that were given to
    /// `send` while the connection below was busy.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Batch {
    type Connection = BatchConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let malformed = context.counts_drops("Batch", "malformed");
        let connection = BatchConnection::new(inner, self.bytes, self.wait, malformed);
        context.observes(connection.observed());
        Ok(connection)
    }
}
