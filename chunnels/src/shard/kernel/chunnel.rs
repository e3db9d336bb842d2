//! The Chunnel itself.

use super::{KernelShardConnection, ServeShards, SiblingConnection, Unserved};
use crate::shard::{Keyed, RoutedBy, ShardMap, Sharding};
use bertha_core::{Chunnel, ConnectContext, Connection, Either, Error, ErrorKind, Identity, Role, Steering};
use std::num::NonZero;

/// Has the kernel of the server hand each request to the socket of its shard, before any process sees it.
///
/// Each shard of the server has a socket at the server's address. A program in the kernel computes the shard
/// of a request from its key, by the function of [`ShardMap`], and picks the socket. So a request takes one
/// hop, as with [`ClientShard`](super::super::ClientShard), and the client has one connection, as with
/// [`ServerShard`](super::super::ServerShard).
///
/// Where the kernel can't route, negotiation passes this Chunnel over, and the agreement has the reason: put
/// it into a `select!` with another. The kernel routes for a process that may load programs of eBPF (it is
/// root, or has the capability `CAP_BPF`), over UDP through the kernel, and above Chunnels that carry each
/// message by itself and unencrypted, such as `Serialize` and `Checksum`.
///
/// # The application at the server
///
/// [`serve`](Self::serve) names the shards. Each gets for each client a connection with the client's requests
/// for this shard, and answers there. The connection that the server accepts has the rest: messages that come
/// before the client has proved its address, and messages without a key that the kernel can read. The
/// application answers these itself, or leaves them to the clients' repetition; in any case it calls `recv`,
/// which notices the end of the connection.
///
/// ```
/// # use bertha_chunnels::shard::ServeShards;
/// # use bertha_core::Connection;
/// struct Threads(Vec<tokio::runtime::Handle>);
///
/// impl ServeShards<String> for Threads {
///     fn serve<C: Connection<Data = String>>(&self, shard: usize, sibling: C) {
///         self.0[shard].spawn(async move {
///             while let Ok(request) = sibling.recv().await {
///                 let _ = sibling.send(format!("you said {request}")).await;
///             }
///         });
///     }
/// }
/// # let _ = Threads(Vec::new());
/// ```
///
/// # The client
///
/// Messages go to the server through one connection. `send_batch` sends each shard's messages in a burst of
/// their own: the system hands messages that leave together to one shard.
///
/// # Delivery
///
/// A request that arrives at another shard than its own is dropped and counted. That happens where a network
/// card or a router joins datagrams on their way, or the messages have their keys elsewhere than
/// [`key_at`](Self::key_at) says. Messages of one shard keep the order of the connection below.
#[derive(Debug, Clone, Identity)]
#[chunnel(capability = Self::sharding, steered = Self::steering)]
pub struct KernelShard<Shards = Unserved> {
    map: ShardMap,
    key_at: usize,
    is_served: bool,
    shards: Shards,
}

impl KernelShard {
    /// Makes a Chunnel that routes by `map`, which has to equal the map of the other end. The addresses in the
    /// map are not used, but compared. At a server without [shards](Self::serve), `recv` returns all requests.
    pub fn new(map: ShardMap) -> Self {
        Self { map, key_at: 0, is_served: false, shards: Unserved }
    }
}

impl<Shards> KernelShard<Shards> {
    /// Sets the number of bytes in an encoded message in front of its key; 0 by default. There the message has
    /// a byte with the length of the key, at most 127, and behind it the key, as codecs write a string, or a
    /// vector of bytes, that is the first field of a struct. Only the server needs it.
    #[must_use]
    pub fn key_at(self, bytes: usize) -> Self {
        Self { key_at: bytes, ..self }
    }

    /// Sets the shards that answer, at a server.
    #[must_use]
    pub fn serve<Served>(self, shards: Served) -> KernelShard<Served> {
        let Self { map, key_at, .. } = self;
        KernelShard { map, key_at, is_served: true, shards }
    }

    /// Returns the map that it routes by.
    pub fn map(&self) -> &ShardMap {
        &self.map
    }

    /// Returns the capability, which has to equal the capability of the other end.
    pub fn sharding(&self) -> Sharding {
        self.map.routed_by(RoutedBy::Kernel)
    }

    /// Returns the rule of the datapath, for a server with shards.
    fn steering(&self) -> Option<Steering> {
        let shards = NonZero::new(self.map.shards().len())?;
        self.is_served.then(|| Steering::new(self.key_at, self.map.skipped(), shards))
    }
}

impl<Inner, Shards> Chunnel<Inner> for KernelShard<Shards>
where
    Inner: Connection,
    Inner::Data: Keyed,
    Shards: ServeShards<Inner::Data>,
{
    type Connection = Either<KernelShardConnection<Inner>, Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        match context.role() {
            Role::Client => {
                if let Some(layer) = context.joins_messages_below() {
                    let what = format!("{layer} below it may join messages of several shards; put it above");
                    return Err(Error::new(ErrorKind::Invalid, what).at("KernelShard"));
                }
                Ok(Either::First(KernelShardConnection::new(inner, self.map.clone())))
            }
            Role::Server if self.is_served => {
                let misplaced = context.counts_drops("KernelShard", "of another shard");
                for (shard, sibling) in context.siblings().await?.into_iter().enumerate() {
                    let sibling = SiblingConnection::new(sibling, self.map.clone(), shard, misplaced.clone());
                    self.shards.serve(shard, sibling);
                }
                context.note("KernelShard", "the kernel picks the shard of each request");
                Ok(Either::Second(inner))
            }
            _ => Ok(Either::Second(inner)),
        }
    }
}
