//! The key-value store over Bertha, and a client for it, both as an application would write them.
//!
//! The server is the server of `kvstore`: a router whose stack is `select!(ClientShard, ServerShard)` over
//! `Serialize` and `Checksum`, and shards with the two lower Chunnels. The client negotiates this stack and
//! gets `ClientShard`. The store on [raw sockets](super::raw) has an equal load, window and messages.

use super::client::Client;
use super::workload::{Phase, Script};
use super::{Sample, Setup};
use crate::harness::{self, Recorder, runtime};
use crate::{Error, ErrorKind};
use bertha::Settings;
use bertha::kernel::Udp;
use bertha::prelude::*;
use bertha_chunnels::shard::RoutedBy;
use bertha_chunnels::{
    Bincode, Checksum, ClientShard, KernelShard, LocalShards, Serialize, ServerShard, ShardMap,
};
use bertha_core::{Addr, Bottom, Describe, Stack};
use bertha_kvstore::server::{Listening, Router, Shard, Stopper};
use bertha_kvstore::{Capacity, Message, Messages, Options, Server, Sharding, Shards, shard_map};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;
use tokio::task::{LocalSet, spawn_local};

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The Chunnels below the routing.
type Lower = Stack<Messages, Stack<Checksum, Bottom>>;

/// Number of requests that may wait between the router and a shard.
const QUEUE: usize = 1024;

/// Runs the store on the first usable core, and the client on the last. With several shards there is a single
/// client with a single connection, and as many more requests in flight.
///
/// # Errors
/// [`ErrorKind::Core`] with fewer than two usable cores, [`ErrorKind::Bertha`] when a connection fails,
/// [`ErrorKind::Stalled`] when the store stops answering, [`ErrorKind::Codec`] when it refuses a request.
pub(super) fn across_cores(setup: &Setup) -> Result<Sample, Error> {
    serve_and_measure(setup, Sharding::Either, |map| {
        select!(ClientShard::new(map.clone()), ServerShard::new(map))
    })
}

/// Works as [`across_cores`], with requests that are routed at this place.
///
/// # Errors
/// [`ErrorKind::Core`], too, if the kernel does not route for this process.
pub(super) fn routed(setup: &Setup, by: RoutedBy) -> Result<Sample, Error> {
    match by {
        RoutedBy::Client => serve_and_measure(setup, Sharding::Client, ClientShard::new),
        RoutedBy::Server => serve_and_measure(setup, Sharding::Server, ServerShard::new),
        RoutedBy::Kernel => serve_and_measure(setup, Sharding::Kernel, KernelShard::new),
    }
}

fn serve_and_measure<R>(
    setup: &Setup,
    sharding: Sharding,
    routing: impl FnOnce(ShardMap) -> R + Send,
) -> Result<Sample, Error>
where
    R: Describe + Send + Sync + 'static,
    Udp: Runs<Stack<R, Lower>, Out: Connection<Data = Message>>,
{
    let usable = harness::usable()?;
    let Some((&client_core, &[server_core, ..])) = usable.split_last() else {
        return Err(Error::new(ErrorKind::Core, "the store and its client need two cores"));
    };
    let shards =
        setup.shards.try_into().map_err(Error::while_doing(ErrorKind::Core, "counting the shards"))?;
    let options = Options { shards: Shards::Local(shards), sharding, ..Options::default() };
    // The store's threads inherit the core.
    let start = || {
        Server::start(options).map_err(|error| match error.kind() {
            bertha::ErrorKind::Unavailable => Error::new(ErrorKind::Core, error.to_string()),
            _ => failed("starting the store")(error),
        })
    };
    let server = harness::run_on(server_core, start)?;
    let routing = routing(server.map().clone());
    let addr = server.addr();
    let stack = make_stack!(routing, Messages::new(), Checksum::new());
    let sample = harness::run_on(client_core, || runtime()?.block_on(measure(setup, stack, addr)));
    server.stop().map_err(failed("stopping the store"))?;
    sample
}

/// Runs router, shards and client as tasks of the calling thread, for the instruction counter: their batches
/// are then equal in every run. Messages are in [`Bincode`], as they were when the counts in
/// `bench/instructions.json` were stored.
///
/// # Errors
/// Errors of [`across_cores`], except for the cores.
pub(super) fn on_one_thread(setup: &Setup) -> Result<Sample, Error> {
    let stopper = Stopper::new();
    let messages = Serialize::<Message, Bincode>::new;
    LocalSet::new().block_on(&runtime()?, async {
        let (local, queues) = LocalShards::new(setup.shards, QUEUE);
        let mut addresses = Vec::new();
        for queue in queues {
            let stack = make_stack!(messages(), Checksum::new());
            let shard = Listening::open(stack, ANY_PORT, Settings::default());
            let shard = shard.await.map_err(failed("opening a shard"))?;
            addresses.push(Addr::from(shard.addr().map_err(failed("opening a shard"))?));
            let store = Shard::new(Capacity::default());
            let from_router = store.clone();
            spawn_local(async move { from_router.serve_queue(queue).await });
            spawn_local(shard.serve(store, stopper.subscribe()));
        }
        let map = shard_map(addresses).map_err(failed("making a shard map"))?;
        let server = ServerShard::new(map.clone()).local(local).map_err(failed("making a stack"))?;
        let routing = select!(ClientShard::new(map.clone()), server);
        let stack = make_stack!(routing, messages(), Checksum::new());
        let router = Listening::open(stack, ANY_PORT, Settings::default())
            .await
            .map_err(failed("opening the router"))?;
        let addr = router.addr().map_err(failed("opening the router"))?;
        spawn_local(router.serve(Router, stopper.subscribe()));
        let routing = select!(ClientShard::new(map.clone()), ServerShard::new(map));
        measure(setup, make_stack!(routing, messages(), Checksum::new()), addr).await
    })
}

/// Connects, loads the store, and measures.
async fn measure<S>(setup: &Setup, stack: S, server: SocketAddr) -> Result<Sample, Error>
where
    S: Negotiate,
    Udp: Runs<S, Out: Connection<Data = Message>>,
{
    let connection = stack.connect(bertha::datapath(), server).await.map_err(failed("connecting"))?;
    let mut client = Client::new(connection, setup.in_flight * setup.shards.max(1), setup.timeout);
    let sample = load_and_measure(&mut client, setup, &mut setup.workload.script()?).await;
    client.close().await?;
    sample
}

/// Loads the store of a connection, and measures.
///
/// # Errors
/// Errors of the connection; [`ErrorKind::Stalled`] when the store stops answering.
pub(crate) async fn load_and_measure<C>(
    client: &mut Client<C>,
    setup: &Setup,
    script: &mut Script,
) -> Result<Sample, Error>
where
    C: Connection<Data = Message>,
{
    let records = script.records();
    client.run(script, Phase::Load, records, &mut Recorder::new()?).await?;
    let mut latency = Recorder::new()?;
    let started = Instant::now();
    client.run(script, Phase::Mix, setup.requests, &mut latency).await?;
    Ok(Sample::new(&latency, started.elapsed(), client.resent()))
}

fn failed(doing: &'static str) -> impl FnOnce(bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}
