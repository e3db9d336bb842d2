//! The Chunnel itself.

use super::{Backends, LocalShards, RemoteShards, ServerShardConnection, routed::Routed};
use crate::shard::{Keyed, RoutedBy, ShardMap, Sharding};
use bertha_core::{Chunnel, ConnectContext, Connection, Either, Error, ErrorKind, Identity, Role};
use std::sync::Arc;

/// Forwards each request to the shard of its key, and the shard's replies to the client, at the server.
///
/// Shards are at the addresses of the map, with one connection to each shard per client, or in this process
/// with [`local`](Self::local). At the client this Chunnel passes every message through.
///
/// # The application at the server
///
/// It never receives a request. Its `recv` does the routing, and returns the error that ends the routing: the
/// client has closed the connection, or a shard has failed. A handler looks as it would without sharding, and
/// has to call `recv`, which routes:
///
/// ```
/// # use bertha_core::Connection;
/// # async fn handle(connection: impl Connection<Data = String>) {
/// while let Ok(request) = connection.recv().await {
///     // Reached only where clients talk to this server directly: for them, `select!` picked another Chunnel.
/// #   drop(request);
/// }
/// # }
/// ```
#[derive(Debug, Clone, Identity)]
#[chunnel(capability = Self::sharding)]
pub struct ServerShard<Shards = RemoteShards> {
    map: ShardMap,
    shards: Shards,
}

impl ServerShard {
    /// Makes a Chunnel that routes by `map`, which has to equal the map of the client, to the addresses in
    /// it.
    pub fn new(map: ShardMap) -> Self {
        Self { map, shards: RemoteShards }
    }

    /// Routes to threads of this process instead. The client needs only the map.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the map has another number of shards.
    pub fn local<T>(self, shards: LocalShards<T>) -> Result<ServerShard<LocalShards<T>>, Error> {
        let mapped = self.map.shards().len();
        let there = shards.len();
        if mapped != there {
            let what = format!("the shard map has {mapped} shards, but {there} queues were made");
            return Err(Error::new(ErrorKind::Invalid, what).at("ServerShard"));
        }
        Ok(ServerShard { map: self.map, shards })
    }
}

impl<Shards> ServerShard<Shards> {
    /// Returns the map that it routes by.
    pub fn map(&self) -> &ShardMap {
        &self.map
    }

    /// Returns the capability, which has to equal the capability of the other end.
    pub fn sharding(&self) -> Sharding {
        self.map.routed_by(RoutedBy::Server)
    }
}

impl<Inner, Shards> Chunnel<Inner> for ServerShard<Shards>
where
    Inner: Connection,
    Inner::Data: Keyed,
    Shards: Backends<Inner>,
{
    type Connection = Either<ServerShardConnection<Inner>, Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        if context.role() != Role::Server {
            return Ok(Either::Second(inner));
        }
        let client = Arc::new(inner);
        let dropped = context.counts_drops("ServerShard", "not to be forwarded");
        let routed = Routed::new(self.map.shards().len(), dropped);
        context.observes(&routed);
        let link = self.shards.link(&client, &self.map, context, &routed).await?;
        Ok(Either::First(ServerShardConnection::new(client, link, routed)))
    }
}
