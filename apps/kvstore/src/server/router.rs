//! The address that clients connect to.

use super::listening::Datapath;
use super::thread::{self, Thread};
use super::{Handler, Listening, Stopper};
use crate::{Message, Sharding};
use bertha::Error;
use bertha::chunnels::{ClientShard, LocalShards, Serialize, ServerShard, ShardMap};
use bertha::prelude::*;
use std::net::SocketAddr;

/// The most messages that are taken from a connection at once.
const BURST: usize = 64;

/// Serves clients that leave routing to this end; receiving is all that it takes.
#[derive(Clone, Copy, Debug)]
pub struct Router;

impl Handler for Router {
    async fn serve<C>(&self, connection: &C) -> Error
    where
        C: Connection<Data = Message>,
    {
        let mut strays = Vec::new();
        loop {
            // The client agreed to route by itself; a request that arrives here went to none of the shards.
            match connection.recv_batch(&mut strays, BURST).await {
                Ok(count) => tracing::debug!(count, "requests that belong to a shard came to the router"),
                Err(ended) => return ended,
            }
            strays.clear();
        }
    }
}

/// Starts the router's thread, with the stack that `sharding` and the place of the shards ask for.
pub(super) fn start(
    addr: SocketAddr,
    sharding: Sharding,
    map: &ShardMap,
    local: Option<LocalShards<Message>>,
    stopper: &Stopper,
) -> Result<Thread, Error> {
    let client = ClientShard::new(map.clone());
    let server = ServerShard::new(map.clone());
    let messages = Serialize::<Message>::new();
    match (sharding, local) {
        (Sharding::Client, _) => listen(make_stack!(client, messages), addr, stopper),
        (Sharding::Server, None) => listen(make_stack!(server, messages), addr, stopper),
        (Sharding::Server, Some(local)) => listen(make_stack!(server.local(local)?, messages), addr, stopper),
        (Sharding::Either, None) => listen(make_stack!(select!(client, server), messages), addr, stopper),
        (Sharding::Either, Some(local)) => {
            listen(make_stack!(select!(client, server.local(local)?), messages), addr, stopper)
        }
    }
}

fn listen<S>(stack: S, addr: SocketAddr, stopper: &Stopper) -> Result<Thread, Error>
where
    S: Negotiate + 'static,
    Datapath: Runs<S, Out: Connection<Data = Message>>,
{
    let stop = stopper.subscribe();
    thread::start(
        "router".to_owned(),
        async move || Listening::open(stack, addr).await,
        async move |listening| listening.serve(Router, stop).await,
    )
}
