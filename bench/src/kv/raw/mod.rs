//! The key-value store on raw UDP sockets, and a client for it, as a good programmer writes them for this
//! single purpose.
//!
//! The server receives up to 32 buffers per system call, each of which may hold many coalesced datagrams. It
//! decodes, handles and encodes them one after another into reused buffers, with a CRC-32 in front of each as
//! in `Checksum`, and sends the replies as few runs. Only the contents of messages are allocated. There are a
//! socket and a thread per shard. Bursts and runs are as long as those of the store over Bertha.
//! The format of messages is a type parameter.

mod client;
mod inbox;
mod outbox;
mod server;
mod socket;

use super::codec::Format;
use super::workload::Phase;
use super::{Sample, Setup};
use crate::harness::{self, Recorder, runtime};
use crate::{Error, ErrorKind};
use bertha_core::Addr;
use bertha_kvstore::{Store, shard_map};
use client::{Client, Shards};
use futures_util::future::{Either, select};
use socket::BatchSocket;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::mpsc;
use std::time::Instant;
use tokio::sync::oneshot;

/// The loopback address with a port that the system chooses.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Runs every shard on a thread of its own and the client on another.
///
/// The client has the last usable core to itself; the shards share all other cores.
///
/// # Errors
/// [`ErrorKind::Core`] with fewer than two usable cores, [`ErrorKind::Socket`] when a socket fails,
/// [`ErrorKind::Stalled`] when a shard stops answering, [`ErrorKind::Codec`] when a shard refuses a request.
pub(crate) fn across_cores<F: Format>(setup: &Setup) -> Result<Sample, Error> {
    let usable = harness::usable()?;
    let Some((&client_core, server_cores @ [_, ..])) = usable.split_last() else {
        return Err(Error::new(ErrorKind::Core, "the store and its client need two cores"));
    };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut addresses = Vec::new();
        for shard in 0..setup.shards {
            let core = server_cores[shard % server_cores.len()];
            let (opened, address) = mpsc::channel();
            let (stop, stopped) = oneshot::channel();
            let thread = scope.spawn(move || {
                harness::pin(core)?;
                runtime()?.block_on(serve_until::<F>(opened, stopped))
            });
            threads.push((thread, stop));
            // A shard that fails before it has an address drops the channel; its thread has the error.
            let Ok(address) = address.recv() else { break };
            addresses.push(address);
        }
        let sample = harness::run_on(client_core, || runtime()?.block_on(measure::<F>(setup, addresses)));
        let mut served = Ok(());
        for (thread, stop) in threads {
            // A shard that has failed does not listen any more.
            let _ = stop.send(());
            let panicked = |_| Err(Error::new(ErrorKind::Core, "a shard panicked"));
            served = served.and(thread.join().unwrap_or_else(panicked));
        }
        served.and(sample)
    })
}

/// Runs the shards and the client as tasks of the calling thread, for the instruction counter: their batches
/// are then equal in every run.
///
/// # Errors
/// Errors of [`across_cores`], except for the cores.
pub(crate) fn on_one_thread<F: Format>(setup: &Setup) -> Result<Sample, Error> {
    runtime()?.block_on(async {
        let mut shards = tokio::task::JoinSet::new();
        let mut addresses = Vec::new();
        for _ in 0..setup.shards {
            let socket = BatchSocket::open()?;
            addresses.push(socket.address()?);
            shards.spawn(async move { server::serve::<F>(&socket, &mut Store::default()).await });
        }
        let client = pin!(measure::<F>(setup, addresses));
        match select(client, pin!(shards.join_next())).await {
            Either::Left((sample, _)) => sample,
            Either::Right((Some(Ok(Err(failed))), _)) => Err(failed),
            Either::Right(_) => Err(Error::new(ErrorKind::Core, "a shard ended")),
        }
    })
}

/// Opens a shard, sends its address, and serves until it has to stop.
async fn serve_until<F: Format>(
    opened: mpsc::Sender<SocketAddr>,
    stopped: oneshot::Receiver<()>,
) -> Result<(), Error> {
    let socket = BatchSocket::open()?;
    let address = socket.address()?;
    opened.send(address).map_err(Error::while_doing(ErrorKind::Core, "sending a shard's address"))?;
    let mut store = Store::default();
    tokio::select! {
        biased;
        failed = server::serve::<F>(&socket, &mut store) => match failed? {},
        _ = stopped => Ok(()),
    }
}

/// Loads all shards, then measures.
async fn measure<F: Format>(setup: &Setup, addresses: Vec<SocketAddr>) -> Result<Sample, Error> {
    let map = shard_map(addresses.iter().copied().map(Addr::from))
        .map_err(Error::while_doing(ErrorKind::Bertha, "making a shard map"))?;
    let mut client = Client::new(Shards { addresses, map }, setup.in_flight * setup.shards, setup.timeout)?;
    let mut script = setup.workload.script()?;
    let records = script.records();
    client.run::<F>(&mut script, Phase::Load, records, &mut Recorder::new()?).await?;
    let mut latency = Recorder::new()?;
    let started = Instant::now();
    client.run::<F>(&mut script, Phase::Mix, setup.requests, &mut latency).await?;
    Ok(Sample::new(&latency, started.elapsed(), client.resent()))
}
