//! The key-value store over Bertha, and a client for it, both as an application would write them.
//!
//! The server is that of `kvstore`: a router whose stack is `select!(ClientShard, ServerShard)` over `Serialize`, and
//! shards with `Serialize`. The client negotiates the same and gets `ClientShard`. Load, window and messages are those
//! of [`kv_raw`](crate::baseline::kv_raw).

pub(crate) mod client;

use crate::baseline::kv_raw::{Sample, Setup};
use crate::cores;
use crate::latency::Recorder;
use crate::workload::{Phase, Script};
use crate::{Error, ErrorKind};
use bertha::chunnels::{ClientShard, LocalShards, Serialize, ServerShard, ShardMap};
use bertha::prelude::*;
use bertha_kvstore::server::{Listening, Router, Shard, Stopper};
use bertha_kvstore::{Capacity, Message, Options, Server, Shards, shard_map};
use client::Client;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Runs the store on all usable cores but the last, which the client has to itself.
///
/// With several shards it is one client with one connection, and as many more requests on the way.
///
/// # Errors
/// [`ErrorKind::Core`] with fewer than two usable cores, [`ErrorKind::Bertha`] when a connection fails,
/// [`ErrorKind::Stalled`] when the store stops answering, [`ErrorKind::Codec`] when it refuses a request.
pub fn across_cores(setup: &Setup) -> Result<Sample, Error> {
    let usable = cores::usable()?;
    let Some((&client_core, &[server_core, ..])) = usable.split_last() else {
        return Err(Error::new(ErrorKind::Core, "the store and its clients need two cores"));
    };
    let shards =
        setup.shards.try_into().map_err(Error::while_doing(ErrorKind::Core, "counting the shards"))?;
    let options = Options { shards: Shards::Local(shards), ..Options::default() };
    // Its threads inherit the core.
    let server = cores::run_on(server_core, || Server::start(options).map_err(failed("starting the store")))?;
    let (map, addr) = (server.map().clone(), server.addr());
    let sample = cores::run_on(client_core, || {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))?;
        runtime.block_on(measure(setup, map, addr))
    });
    server.stop().map_err(failed("stopping the store"))?;
    sample
}

/// Runs router, one shard and the client as tasks of the calling thread: for the instruction counter, since their
/// batches are then the same in every run.
///
/// # Errors
/// As [`across_cores`], but for the cores.
pub fn on_one_thread(setup: &Setup) -> Result<Sample, Error> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))?;
    let stopper = Stopper::new();
    let (stop_shard, stop_router) = (stopper.subscribe(), stopper.subscribe());
    LocalSet::new().block_on(&runtime, async {
        let shard = Listening::open(make_stack!(Serialize::<Message>::new()), ANY_PORT);
        let shard = shard.await.map_err(failed("opening a shard"))?;
        let shard_addr = shard.addr().map_err(failed("opening a shard"))?;
        let map = shard_map([shard_addr.into()]).map_err(failed("making a shard map"))?;
        let (local, mut queues) = LocalShards::new(1, 1024);
        let server = ServerShard::new(map.clone()).local(local).map_err(failed("making a stack"))?;
        let stack = make_stack!(select!(ClientShard::new(map.clone()), server), Serialize::<Message>::new());
        let router = Listening::open(stack, ANY_PORT).await.map_err(failed("opening the router"))?;
        let addr = router.addr().map_err(failed("opening the router"))?;

        let store = Shard::new(Capacity::default());
        let from_router = store.clone();
        if let Some(queue) = queues.pop() {
            spawn_local(async move { from_router.serve_queue(queue).await });
        }
        spawn_local(shard.serve(store, stop_shard));
        spawn_local(router.serve(Router, stop_router));
        measure(setup, map, addr).await
    })
}

/// Connects, loads the store, and measures.
async fn measure(setup: &Setup, map: ShardMap, server: SocketAddr) -> Result<Sample, Error> {
    let stack = make_stack!(
        select!(ClientShard::new(map.clone()), ServerShard::new(map)),
        Serialize::<Message>::new(),
    );
    let connection = stack.connect(bertha::datapath(), server).await.map_err(failed("connecting"))?;
    let mut client = Client::new(connection, setup.outstanding * setup.shards.max(1));
    let Some((_, mut script)) = setup.workload.scripts(1).pop() else {
        return Err(Error::new(ErrorKind::Probe, "the workload has no records"));
    };
    let sample = load_and_measure(&mut client, setup, &mut script).await;
    client.close().await?;
    sample
}

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
    let elapsed = started.elapsed();
    Ok(Sample {
        requests_per_second: latency.count() as f64 / elapsed.as_secs_f64(),
        latency: latency.summary(),
        resent: client.resent(),
    })
}

fn failed(doing: &'static str) -> impl FnOnce(bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    const FEW: Setup = Setup {
        shards: 1,
        outstanding: 8,
        requests: 501,
        workload: Workload { records: 50, value_bytes: 10, reads: 0.5, seed: 3 },
    };

    #[test]
    fn every_request_is_answered_on_one_thread() {
        for outstanding in [1, 8, 300] {
            let sample = on_one_thread(&Setup { outstanding, ..FEW }).unwrap();
            assert!(sample.requests_per_second > 0.0 && sample.latency.p50_us > 0.0, "{sample:?}");
        }
    }

    #[test]
    fn every_request_is_answered_across_cores() {
        match across_cores(&Setup { shards: 2, ..FEW }) {
            Err(error) if cores::usable().unwrap().len() < 2 => assert_eq!(error.kind(), ErrorKind::Core),
            sample => assert!(sample.unwrap().latency.p99_us > 0.0),
        }
    }
}
