//! The Chunnel itself.

use super::CompressConnection;
use super::frame::Bounds;
use bertha_core::capability::exact_part;
use bertha_core::{Buf, Capability, Carries, Chunnel, ConnectContext, Error, Identity, Mismatch};
use serde::{Deserialize, Serialize};

/// Compresses messages. See the [module](crate::compress).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Identity)]
#[chunnel(capability = Self::capability)]
pub struct Compress {
    bounds: Bounds,
}

/// The capability: the format of compressed messages, and their maximum decompressed length.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(compare = Self::compare, label = Self::label)]
pub(super) struct Lz4 {
    limit: u32,
}

impl Lz4 {
    fn compare(&self, other: &Self) -> Result<(), Mismatch> {
        exact_part("limit of a message in bytes", &self.limit, &other.limit)
    }

    fn label(&self) -> String {
        "lz4".into()
    }
}

impl Compress {
    /// Makes a Chunnel that compresses messages from 64 bytes to 16 MiB.
    pub fn new() -> Self {
        Self { bounds: Bounds { min: 64, limit: 16 * 1024 * 1024 } }
    }

    /// Stores messages shorter than `bytes` uncompressed. Each end may choose the bound for the messages that
    /// it sends.
    #[must_use]
    pub fn at_least(mut self, bytes: usize) -> Self {
        self.bounds.min = bytes;
        self
    }

    /// Stores messages longer than `bytes` uncompressed, and refuses messages that would decompress to more.
    /// At most 127 MiB. Both ends need the same limit.
    #[must_use]
    pub fn limit(mut self, bytes: u32) -> Self {
        self.bounds.limit = bytes.clamp(1, 127 * 1024 * 1024);
        self
    }

    fn capability(&self) -> Lz4 {
        Lz4 { limit: self.bounds.limit }
    }
}

impl Default for Compress {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Compress {
    type Connection = CompressConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let refused = context.counts_drops("Compress", "malformed or too large");
        let connection = CompressConnection::new(inner, self.bounds, refused);
        context.observes(connection.observed());
        Ok(connection)
    }
}
