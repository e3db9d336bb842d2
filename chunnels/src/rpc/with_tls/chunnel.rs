//! The Chunnel itself.

use super::RpcWithTlsConnection;
use crate::{Rpc, Tls};
use bertha_core::{Chunnel, ConnectContext, Connection, Describe, Error, Identity, Node, Octets};

/// [`Rpc`] and [`Tls`] in one: writes calls and responses, each with its header, straight into TLS records.
///
/// Inserted by the pass [`FuseRpcAndTls`](super::FuseRpcAndTls), or by hand. A burst of calls or responses is encrypted as one piece,
/// in as few records as it fits; the two layers apart make records of 32 messages.
///
/// The wire format is that of the two layers, and to negotiation it is those two layers. So either end may have them apart. What it
/// guarantees, and how it fails, are theirs as well.
#[derive(Debug, Clone, Identity)]
#[chunnel(
    layers = Self::layers,
    guarantees(Encrypted, Authenticated, IntegrityChecked, AtMostOnce, ForwardSecret)
)]
pub struct RpcWithTls {
    rpc: Rpc,
    tls: Tls,
}

impl RpcWithTls {
    /// Does what `rpc` above `tls` would.
    pub fn new(rpc: Rpc, tls: Tls) -> Self {
        Self { rpc, tls }
    }

    /// Returns the layers that the other end sees, top first.
    fn layers(&self) -> Vec<Node> {
        [self.rpc.nodes(), self.tls.nodes()].concat()
    }
}

impl<Inner: Connection<Data: Octets>> Chunnel<Inner> for RpcWithTls {
    type Connection = RpcWithTlsConnection<Inner>;

    /// Completes the handshake of TLS. Errors are those of [`Tls`].
    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let malformed = context.counts_drops("RpcWithTls", "malformed");
        Ok(RpcWithTlsConnection::new(self.tls.connect_wrap(inner, context).await?, malformed))
    }
}
