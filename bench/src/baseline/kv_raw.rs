//! The key-value store on raw UDP sockets, and a client for it.
//!
//! Receives up to 32 buffers per system call, each of which may hold up to 64 coalesced datagrams; decodes, handles and
//! encodes one after the other into reused buffers; sends the replies as few runs. Nothing is allocated but what the
//! messages themselves hold. One socket and one thread per shard; no shard knows of another.

mod client;
mod inbox;
mod outbox;
mod server;
mod socket;

use crate::codec::Codec;
use crate::cores;
use crate::latency::{Latency, Recorder};
use crate::workload::{Phase, Script, Workload};
use crate::{Error, ErrorKind};
use bertha_kvstore::Store;
use client::Client;
use futures_util::future::try_join_all;
use socket::BatchSocket;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Shards, each with its own socket; one at least.
    pub shards: usize,
    /// Requests on the way to each shard at any time.
    pub outstanding: usize,
    /// Requests that are measured, over all shards; each shard gets an equal part, rounded up.
    pub requests: u64,
    /// What they ask for.
    pub workload: Workload,
}

impl Default for Setup {
    /// One shard, workload B, and 512 requests on the way: enough that both cores always have work. With 32 they sleep
    /// and wake in turn for most of the time, and a slower program would be just as fast.
    fn default() -> Self {
        Self { shards: 1, outstanding: 512, requests: 100_000, workload: Workload::default() }
    }
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Requests answered per second.
    pub requests_per_second: f64,
    /// From the first sending of a request to its reply.
    pub latency: Latency,
    /// Requests that were sent again because nothing came back for a while.
    pub resent: u64,
}

/// Runs every shard on a thread of its own and all clients on another.
///
/// The clients have the last usable core to themselves; the shards share the others.
///
/// # Errors
/// [`ErrorKind::Core`] with fewer than two usable cores, [`ErrorKind::Socket`] when a socket fails,
/// [`ErrorKind::Stalled`] when a shard stops answering, [`ErrorKind::Codec`] when one refuses a request.
pub fn across_cores<C: Codec>(codec: C, setup: &Setup) -> Result<Sample, Error> {
    let usable = cores::usable()?;
    let Some((&client_core, server_cores @ [_, ..])) = usable.split_last() else {
        return Err(Error::new(ErrorKind::Core, "the store and its clients need two cores"));
    };
    std::thread::scope(|scope| {
        let mut shards = Vec::new();
        let mut lanes = Vec::new();
        for (shard, script) in setup.workload.scripts(setup.shards) {
            let core = server_cores[shard % server_cores.len()];
            let (opened, address) = mpsc::channel();
            let (stop, stopped) = oneshot::channel();
            let thread = scope.spawn(move || {
                cores::pin(core)?;
                runtime()?.block_on(serve_until(codec, opened, stopped))
            });
            shards.push((thread, stop));
            // A shard that fails before it has an address drops the channel; its thread says why.
            let Ok(address) = address.recv() else { break };
            lanes.push((address, script));
        }
        let sample = cores::run_on(client_core, || runtime()?.block_on(measure(codec, setup, lanes)));
        let mut served = Ok(());
        for (thread, stop) in shards {
            // A shard that has failed does not listen any more.
            let _ = stop.send(());
            served = served.and(cores::join(thread));
        }
        served.and(sample)
    })
}

/// Runs one shard and its client as two tasks of the calling thread: for the instruction counter, since their batches
/// are then the same in every run.
///
/// # Errors
/// As [`across_cores`], but for the cores.
pub fn on_one_thread<C: Codec>(codec: C, setup: &Setup) -> Result<Sample, Error> {
    runtime()?.block_on(async {
        let socket = BatchSocket::open()?;
        let lanes = setup.workload.scripts(1).into_iter().map(|(_, script)| Ok((socket.address()?, script)));
        let lanes = lanes.collect::<Result<_, Error>>()?;
        let shard = tokio::spawn(async move { server::serve(codec, &socket, &mut Store::default()).await });
        let sample = measure(codec, setup, lanes).await;
        if shard.is_finished() {
            match shard.await.map_err(Error::while_doing(ErrorKind::Core, "awaiting the shard"))?? {}
        }
        shard.abort();
        sample
    })
}

fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))
}

/// Opens a shard, tells its address, and serves until told to stop.
async fn serve_until<C: Codec>(
    codec: C,
    opened: mpsc::Sender<SocketAddr>,
    stopped: oneshot::Receiver<()>,
) -> Result<(), Error> {
    let socket = BatchSocket::open()?;
    let address = socket.address()?;
    opened.send(address).map_err(Error::while_doing(ErrorKind::Core, "telling a shard's address"))?;
    let mut store = Store::default();
    tokio::select! {
        biased;
        failed = server::serve(codec, &socket, &mut store) => match failed? {},
        _ = stopped => Ok(()),
    }
}

/// Loads all shards, then measures all at once.
async fn measure<C: Codec>(
    codec: C,
    setup: &Setup,
    lanes: Vec<(SocketAddr, Script)>,
) -> Result<Sample, Error> {
    let each = setup.requests.div_ceil(lanes.len().max(1) as u64);
    let mut clients = Vec::with_capacity(lanes.len());
    for (server, mut script) in lanes {
        let mut client = Client::new(codec, server, setup.outstanding)?;
        let records = script.records();
        client.run(&mut script, Phase::Load, records, &mut Recorder::new()?).await?;
        clients.push((client, script, Recorder::new()?));
    }
    let started = Instant::now();
    let runs =
        clients.iter_mut().map(|(client, script, latency)| client.run(script, Phase::Mix, each, latency));
    try_join_all(runs).await?;
    let elapsed = started.elapsed();

    let mut latency = Recorder::new()?;
    for (_, _, own) in &clients {
        latency.merge(own)?;
    }
    Ok(Sample {
        requests_per_second: latency.count() as f64 / elapsed.as_secs_f64(),
        latency: latency.summary(),
        resent: clients.iter().map(|(client, _, _)| client.resent()).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Bincode, Postcard};

    const FEW: Setup = Setup {
        shards: 2,
        outstanding: 8,
        requests: 501,
        workload: Workload { records: 50, value_bytes: 10, reads: 0.5, seed: 3 },
    };

    #[test]
    fn every_request_is_answered_on_one_thread() {
        for outstanding in [1, 8, 300] {
            let setup = Setup { outstanding, ..FEW };
            let sample = on_one_thread(Bincode, &setup).unwrap();
            assert!(sample.requests_per_second > 0.0 && sample.latency.p50_us > 0.0, "{sample:?}");
        }
    }

    #[test]
    fn every_request_is_answered_across_cores() {
        match across_cores(Postcard, &FEW) {
            Err(error) if cores::usable().unwrap().len() < 2 => assert_eq!(error.kind(), ErrorKind::Core),
            sample => assert!(sample.unwrap().latency.p99_us > 0.0),
        }
    }
}
