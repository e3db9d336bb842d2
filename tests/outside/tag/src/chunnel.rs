//! The Chunnel itself.

use crate::TagConnection;
use bertha_core::{Base, Buf, Capability, Carries, Chunnel, ConnectContext, Error, Identity};
use serde::{Deserialize, Serialize};

/// Puts the number of an application in front of each message, and drops messages with another number.
///
/// The Chunnel is all configuration, and so its own capability: two ends with different numbers are refused
/// when they connect. A number is no secret, and keeps no attacker out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Identity, Capability)]
#[chunnel(capability = Clone::clone)]
#[capability(exact)]
pub struct Tag {
    application: u32,
}

impl Tag {
    /// Length of the number in front of a message, in bytes.
    pub const LENGTH: usize = 4;

    /// Makes a Chunnel for the application with this number.
    pub const fn new(application: u32) -> Self {
        Self { application }
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Tag {
    type Connection = TagConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        inner.base().reserve(Self::LENGTH);
        let stray = context.counts_drops("Tag", "stray");
        Ok(TagConnection::new(inner, self.application.to_le_bytes(), stray))
    }
}
