//! Shards at other addresses of the datapath.

use super::Backends;
use super::backends::Link;
use super::forward::forward;
use super::routed::Routed;
use crate::shard::keyed::{FindKey, Own};
use crate::shard::parts::Parts;
use crate::shard::{BURST, Keyed, ShardMap, failure};
use bertha_core::{Addr, BoxFuture, ConnectContext, Connection, Error, Identity};
use futures_util::future::try_join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::pending;
use std::sync::Arc;

/// The shards as servers at the addresses of the shard map.
///
/// Each client has its own connection to each shard, so replies need no label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(parameter)]
pub struct RemoteShards;

impl<Inner: Connection<Data: Keyed>> Backends<Inner> for RemoteShards {
    async fn link(
        &self,
        client: &Arc<Inner>,
        map: &ShardMap,
        context: ConnectContext<'_, Inner>,
        routed: &Arc<Routed>,
    ) -> Result<Link<Inner>, Error> {
        link::<Inner, Own>("ServerShard", client, map, |shard| context.connect(shard), routed).await
    }
}

/// Opens a connection to every shard, and routes by the key that `K` finds. Errors name `chunnel`.
pub(in crate::shard) async fn link<'a, Inner, K>(
    chunnel: &'static str,
    client: &Arc<Inner>,
    map: &ShardMap,
    open: impl Fn(Addr) -> BoxFuture<'a, Result<Inner, Error>>,
    routed: &Arc<Routed>,
) -> Result<Link<Inner>, Error>
where
    Inner: Connection + 'a,
    K: FindKey<Inner::Data>,
{
    let opening = map.shards().iter().enumerate().map(|(number, addr)| {
        let opening = open(addr.clone());
        async move { opening.await.map_err(|error| failure::of_shard(chunnel, number, addr, error)) }
    });
    let shards: Arc<[Inner]> = try_join_all(opening).await?.into();

    let router = || Router {
        chunnel,
        client: client.clone(),
        shards: shards.clone(),
        map: map.clone(),
        routed: routed.clone(),
    };
    // Each future is boxed once per connection; futures that wait cost nothing.
    let directions: FuturesUnordered<BoxFuture<'static, Error>> = FuturesUnordered::new();
    directions.push(Box::pin(router().requests::<K>()));
    for number in 0..shards.len() {
        directions.push(Box::pin(router().replies(number)));
    }
    Ok(Link { shards, routing: Box::pin(first_end(directions)) })
}

async fn first_end(mut directions: FuturesUnordered<BoxFuture<'static, Error>>) -> Error {
    match directions.next().await {
        Some(error) => error,
        // The set is never empty: requests are a direction of their own.
        None => pending().await,
    }
}

/// Forwards the messages of one direction.
struct Router<C> {
    chunnel: &'static str,
    client: Arc<C>,
    shards: Arc<[C]>,
    map: ShardMap,
    routed: Arc<Routed>,
}

impl<C: Connection> Router<C> {
    async fn requests<K: FindKey<C::Data>>(self) -> Error {
        let mut parts = Parts::<C::Data, K>::new(self.map.clone());
        loop {
            if let Err(error) = self.client.recv_batch(&mut parts, BURST).await {
                return error;
            }
            self.routed.dropped.add(parts.take_keyless());
            while let Some((number, messages)) = parts.next_part() {
                self.routed.requests(number, messages.len());
                if let Err(error) = forward(&self.shards[number], messages, &self.routed.dropped).await {
                    return self.of_shard(number, error);
                }
            }
        }
    }

    async fn replies(self, number: usize) -> Error {
        let mut burst = Vec::new();
        loop {
            if let Err(error) = self.shards[number].recv_batch(&mut burst, BURST).await {
                return self.of_shard(number, error);
            }
            self.routed.replies(burst.len());
            if let Err(error) = forward(&*self.client, burst.drain(..), &self.routed.dropped).await {
                return error;
            }
        }
    }

    fn of_shard(&self, number: usize, error: Error) -> Error {
        failure::of_shard(self.chunnel, number, &self.map.shards()[number], error)
    }
}
