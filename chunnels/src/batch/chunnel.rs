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
    /// Up to 1,300 bytes, for up to a millisecond.
    pub fn new() -> Self {
        Self { bytes: 1_300, wait: Duration::from_millis(1) }
    }

    /// Sends once `bytes` are there, at most as many as the connection below carries. A message that is larger goes alone
    /// and at once.
    #[must_use]
    pub fn bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// Sends once the first message has waited for so long. Zero sends at once, together with what was given to `send`
    /// while the connection below was busy.
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
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(BatchConnection::new(inner, self.bytes, self.wait))
    }
}
