//! The Chunnel itself.

use super::connection::{CHECK, ChecksumConnection};
use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Error, Identity};

/// Drops damaged messages, by a CRC-32 in front of each message. See the [module](crate::checksum).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(apart = 4, guarantees(IntegrityChecked))]
pub struct Checksum;

impl Checksum {
    /// Makes a Chunnel that puts a CRC-32 of four bytes in front of each message.
    pub const fn new() -> Self {
        Self
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Checksum {
    type Connection = ChecksumConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let below = inner.base().reserved();
        inner.base().reserve(CHECK);
        Ok(ChecksumConnection::new(inner, below, context.counts_drops("Checksum", "damaged")))
    }
}
