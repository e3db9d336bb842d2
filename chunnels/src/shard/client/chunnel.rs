//! The Chunnel itself.

use super::ClientShardConnection;
use crate::shard::{Keyed, RoutedBy, ShardMap, Sharding, failure};
use bertha_core::{Chunnel, ConnectContext, Connection, Either, Error, Identity, Role};
use futures_util::future::try_join_all;

/// Sends each message to the shard of its key, at the client.
///
/// When it connects, it opens one more connection per shard, each negotiated with that shard for the layers
/// below this Chunnel; a shard that does not answer fails the connection. The connection to the server itself
/// stays open, and carries no messages. At the server this Chunnel passes every message through, since its
/// clients have routed them.
#[derive(Debug, Clone, Identity)]
#[chunnel(capability = Self::sharding)]
pub struct ClientShard {
    map: ShardMap,
}

impl ClientShard {
    /// Makes a Chunnel that routes by `map`, which has to equal the map of the server.
    pub fn new(map: ShardMap) -> Self {
        Self { map }
    }

    /// Returns the capability, which has to equal the capability of the other end.
    pub fn sharding(&self) -> Sharding {
        self.map.routed_by(RoutedBy::Client)
    }
}

impl<Inner> Chunnel<Inner> for ClientShard
where
    Inner: Connection,
    Inner::Data: Keyed,
{
    type Connection = Either<ClientShardConnection<Inner>, Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        if context.role() != Role::Client {
            return Ok(Either::Second(inner));
        }
        let opening = self.map.shards().iter().enumerate().map(|(number, addr)| async move {
            let opened = context.connect(addr.clone()).await;
            opened.map_err(|error| failure::of_shard("ClientShard", number, addr, error))
        });
        let shards = try_join_all(opening).await?;
        Ok(Either::First(ClientShardConnection::new(inner, shards, self.map.clone())))
    }
}
