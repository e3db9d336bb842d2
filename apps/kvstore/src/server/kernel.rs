//! Shards to which the kernel hands their requests.

use super::{Handler, Shard};
use crate::Message;
use bertha::Error;
use bertha::chunnels::ShardMap;
use bertha::chunnels::shard::ServeShards;
use bertha::prelude::*;
use std::fmt;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Maximum number of requests that are taken from a connection at once.
const BURST: usize = 64;

/// The shards of this process, each with the runtime of its thread.
#[derive(Clone)]
pub(super) struct KernelShards(Arc<[(Shard, Handle)]>);

impl KernelShards {
    pub(super) fn new(shards: impl IntoIterator<Item = (Shard, Handle)>) -> Self {
        Self(shards.into_iter().collect())
    }

    /// Returns a handler of the requests that the kernel does not hand to a shard, which answers them from the
    /// shards' stores: a client's first requests, before it has proved its address.
    pub(super) fn strays(&self, map: ShardMap) -> Strays {
        Strays { shards: self.clone(), map }
    }
}

impl ServeShards<Message> for KernelShards {
    fn serve<C: Connection<Data = Message>>(&self, shard: usize, sibling: C) {
        let Some((shard, runtime)) = self.0.get(shard) else { return };
        let shard = shard.clone();
        // The task ends with the connection, which the router closes.
        runtime.spawn(async move { shard.serve(&sibling).await });
    }
}

impl fmt::Debug for KernelShards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shards", self.0.len())
    }
}

/// A handler for clients of which some requests come to the router. Where this end routes, receiving alone
/// makes the stack route.
#[derive(Clone, Debug)]
pub(super) struct Strays {
    shards: KernelShards,
    map: ShardMap,
}

impl Strays {
    /// Returns the reply; `None` if the shards of a scan have stopped.
    async fn answer(&self, request: Message) -> Option<Message> {
        let (shard, _) = self.shards.0.get(self.map.shard_of(request.key.as_bytes()))?;
        shard.reply_to(request).await
    }
}

impl Handler for Strays {
    async fn serve<C>(&self, connection: &C) -> Error
    where
        C: Connection<Data = Message>,
    {
        let (mut strays, mut replies) = (Vec::new(), Vec::new());
        loop {
            if let Err(ended) = connection.recv_batch(&mut strays, BURST).await {
                return ended;
            }
            for request in strays.drain(..) {
                replies.extend(self.answer(request).await);
            }
            // A lost reply is as a lost datagram: the client asks again.
            if let Err(error) = connection.send_batch(replies.drain(..)).await
                && error.ends_connection()
            {
                return error;
            }
        }
    }
}
