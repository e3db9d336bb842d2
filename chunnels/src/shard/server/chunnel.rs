//! The Chunnel itself.

use super::{Backends, LocalShards, RemoteShards, ServerShardConnection};
use crate::shard::{Keyed, RoutedBy, ShardMap, Sharding};
use bertha_core::{Chunnel, ConnectContext, Connection, Either, Error, ErrorKind, Identity, Role};
use std::sync::Arc;

/// The server passes each request on to the shard of its key, and the shard's replies back to the client.
///
/// Shards are at the addresses of the map, one connection to each per client, or in this process with
/// [`local`](Self::local). At the client this Chunnel passes everything through.
///
/// # The application at the server
///
/// It never sees a request. Its `recv` does the routing, and returns only when that has ended, with the error that
/// ended it: the client has closed the connection, or a shard is gone. A handler looks as it does without sharding,
/// and must call `recv` for anything to be routed:
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
    /// Routes by `map`, which the client must have as well, to the addresses in it.
    pub fn new(map: ShardMap) -> Self {
        Self { map, shards: RemoteShards }
    }

    /// Routes to threads of this process instead. The client needs no more than the map.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the map has another number of shards.
    pub fn local<T>(self, shards: LocalShards<T>) -> Result<ServerShard<LocalShards<T>>, Error> {
        let (mapped, there) = (self.map.shards().len(), shards.len());
        if mapped != there {
            let what = format!("the shard map has {mapped} shards, but {there} queues were made");
            return Err(Error::new(ErrorKind::Invalid, what).at("ServerShard"));
        }
        Ok(ServerShard { map: self.map, shards })
    }
}

impl<Shards> ServerShard<Shards> {
    /// What it routes by.
    pub fn map(&self) -> &ShardMap {
        &self.map
    }

    /// What the other end must have as well.
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
        let (client, dropped) = (Arc::new(inner), Arc::default());
        let link = self.shards.link(&client, &self.map, context, &dropped).await?;
        Ok(Either::First(ServerShardConnection::new(client, link, dropped)))
    }
}
