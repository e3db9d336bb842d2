//! Shards that are reached over the datapath.

use super::Backends;
use super::backends::Link;
use super::forward::forward;
use crate::shard::parts::Parts;
use crate::shard::{BURST, Keyed, ShardMap, failure};
use bertha_core::{BoxFuture, Connection, Error, More};
use futures_util::future::try_join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The shards are servers at the addresses of the shard map.
///
/// Each client has a connection of its own to each shard, so replies need no mark that says whose they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoteShards;

impl<Inner: Connection<Data: Keyed>> Backends<Inner> for RemoteShards {
    async fn link(
        &self,
        client: &Arc<Inner>,
        map: &ShardMap,
        more: More<'_, Inner>,
        dropped: &Arc<AtomicU64>,
    ) -> Result<Link<Inner>, Error> {
        let opening = map.shards().iter().enumerate().map(|(number, addr)| async move {
            more.open(addr.clone()).await.map_err(|error| of_shard(map, number, error))
        });
        let shards: Arc<[Inner]> = try_join_all(opening).await?.into();

        // Each is boxed once per connection, and then waits in one place; those that wait cost nothing.
        let ways: FuturesUnordered<BoxFuture<'static, Error>> = FuturesUnordered::new();
        ways.push(Box::pin(requests(client.clone(), shards.clone(), map.clone(), dropped.clone())));
        for number in 0..shards.len() {
            let (client, shards) = (client.clone(), shards.clone());
            ways.push(Box::pin(replies(number, client, shards, map.clone(), dropped.clone())));
        }
        Ok(Link { shards, routing: Box::pin(first_end(ways)) })
    }
}

async fn first_end(mut ways: FuturesUnordered<BoxFuture<'static, Error>>) -> Error {
    match ways.next().await {
        Some(error) => error,
        // There are at least the requests.
        None => pending().await,
    }
}

async fn requests<C>(client: Arc<C>, shards: Arc<[C]>, map: ShardMap, dropped: Arc<AtomicU64>) -> Error
where
    C: Connection<Data: Keyed>,
{
    let mut parts = Parts::new(map.clone());
    loop {
        if let Err(error) = client.recv_batch(&mut parts, BURST).await {
            return error;
        }
        while let Some((number, messages)) = parts.next_part() {
            if let Err(error) = forward(&shards[number], messages, &dropped).await {
                return of_shard(&map, number, error);
            }
        }
    }
}

async fn replies<C>(
    number: usize,
    client: Arc<C>,
    shards: Arc<[C]>,
    map: ShardMap,
    dropped: Arc<AtomicU64>,
) -> Error
where
    C: Connection,
{
    let mut burst = Vec::new();
    loop {
        if let Err(error) = shards[number].recv_batch(&mut burst, BURST).await {
            return of_shard(&map, number, error);
        }
        if let Err(error) = forward(&*client, burst.drain(..), &dropped).await {
            return error;
        }
    }
}

fn of_shard(map: &ShardMap, number: usize, error: Error) -> Error {
    failure::of_shard("ServerShard", number, &map.shards()[number], error)
}
