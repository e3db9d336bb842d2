//! The Chunnel itself.

use super::RpcConnection;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};

/// Carries calls and responses over a connection that carries bytes. See the [module](crate::rpc).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(needs(Reliable, AtMostOnce), no_early_data)]
pub struct Rpc;

impl Rpc {
    /// Without settings: those of the [client](super::Client) and of the [server](super::serve()) are theirs alone.
    pub fn new() -> Self {
        Self
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Rpc {
    type Connection = RpcConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(RpcConnection::new(inner, context.counts_drops("Rpc", "malformed")))
    }
}
