//! The Chunnel itself.

use crate::serialize::{At, Codec, Serialize, SerializeConnection};
use crate::shard::keyed::FindKey;
use crate::shard::server::{Routed, link};
use crate::shard::{ServerShard, ServerShardConnection};
use bertha_core::{
    Base, Buf, Carries, Chunnel, ConnectContext, Connection, Describe, Either, Error, Identity, Node, Role,
};
use std::sync::Arc;

/// [`ServerShard`] and [`Serialize`] in one Chunnel: the server reads each message's key at `OFFSET` bytes
/// into its encoding, and forwards the message unchanged to the shard at a remote address.
///
/// The pass [`RouteUndecoded`](super::RouteUndecoded) inserts it, or a program for a codec that writes keys
/// at that offset. The other end and the shards see the two layers that it replaces. A message that ends
/// before its key does belongs to no shard; it is dropped and counted ([`ServerShardConnection::dropped`]).
#[derive(Debug, Clone, Identity)]
#[chunnel(layers = Self::layers)]
pub struct ShardRaw<const OFFSET: usize, T, C> {
    shard: ServerShard,
    serialize: Serialize<T, C>,
}

impl<const OFFSET: usize, T, C: Codec<T, Key = At<OFFSET>>> ShardRaw<OFFSET, T, C> {
    /// Makes a Chunnel with the function of `shard` above `serialize`.
    pub fn new(shard: ServerShard, serialize: Serialize<T, C>) -> Self {
        Self { shard, serialize }
    }
}

impl<const OFFSET: usize, T, C> ShardRaw<OFFSET, T, C> {
    fn layers(&self) -> Vec<Node> {
        [self.shard.nodes(), self.serialize.nodes()].concat()
    }
}

/// A way to find the key: at the offset of the codec.
enum AtOffset<const OFFSET: usize> {}

impl<const OFFSET: usize> FindKey<Buf> for AtOffset<OFFSET> {
    #[inline]
    fn key(message: &Buf) -> Option<&[u8]> {
        At::<OFFSET>::key(message)
    }
}

impl<const OFFSET: usize, T, C, Inner> Chunnel<Inner> for ShardRaw<OFFSET, T, C>
where
    T: Send + 'static,
    C: Codec<T, Key = At<OFFSET>>,
    Inner: Carries<Buf, Self>,
{
    type Connection = SerializeConnection<Either<ServerShardConnection<Inner>, Inner>, T, C>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        inner.base().properties().refuse_receipts("ShardRaw")?;
        let malformed = context.counts_drops("Serialize", "malformed");
        let routed = match context.role() {
            Role::Server => Either::First(self.route(inner, context).await?),
            _ => Either::Second(inner),
        };
        Ok(self.serialize.over(routed, malformed))
    }
}

impl<const OFFSET: usize, T, C> ShardRaw<OFFSET, T, C> {
    /// Routes between a client and the shards, to which the connections appear to have the layer [`Serialize`].
    async fn route<Inner>(
        &self,
        client: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<ServerShardConnection<Inner>, Error>
    where
        Inner: Connection<Data = Buf>,
    {
        let (client, dropped) =
            (Arc::new(client), context.counts_drops("ServerShard", "not to be forwarded"));
        let map = self.shard.map();
        let routed = Routed::new(map.shards().len(), dropped);
        context.observes(&routed);
        let open = |shard| context.connect_through(shard, self.serialize.nodes());
        let link = link::<Inner, AtOffset<OFFSET>>("ShardRaw", &client, map, open, &routed).await?;
        Ok(ServerShardConnection::new(client, link, routed))
    }
}
