//! The store: a router on a core, two shards and their client on another core.

use super::encoded::Encoded;
use crate::harness::{pin, run_on, runtime, thread_time, usable};
use crate::{Error, ErrorKind};
use bertha::chunnels::shard::RouteUndecoded;
use bertha::chunnels::{ServerShard, ShardMap};
use bertha::kernel::Udp;
use bertha::prelude::*;
use bertha::{Buf, Settings};
use bertha_kvstore::server::{Listening, Router, Stop, Stopper};
use bertha_kvstore::{Message, Messages, shard_map};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const SHARDS: usize = 2;

/// Largest number of messages that a shard returns at once.
const BURST: usize = 256;

/// The way in which the router finds keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Routing {
    /// The router decodes messages, and encodes them again.
    Decoding,
    /// The router reads keys in place: the stack after [`RouteUndecoded`].
    Raw,
}

impl Routing {
    /// Returns the name in rows and in the figure.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Decoding => "decoding every message",
            Self::Raw => "on raw bytes",
        }
    }
}

/// The running store.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) map: ShardMap,
    pub(super) router: SocketAddr,
    clock: mpsc::UnboundedSender<oneshot::Sender<Duration>>,
}

impl Service {
    /// Returns the processor time of the router's thread so far.
    pub(super) async fn cpu_time(&self) -> Result<Duration, Error> {
        let (answer, answered) = oneshot::channel();
        // A router that is gone does not answer.
        let _ = self.clock.send(answer);
        answered.await.map_err(Error::while_doing(ErrorKind::Core, "asking the router's thread for its time"))
    }
}

/// Starts the store, and drives it from the core of the shards.
pub(super) fn run<T: Send>(
    routing: Routing,
    drive: impl AsyncFnOnce(&Service) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let usable = usable()?;
    let Some((&shard_core, &[router_core, ..])) = usable.split_last() else {
        return Err(Error::new(ErrorKind::Core, "the router and its shards need two cores"));
    };
    run_on(shard_core, || {
        block_on(async {
            let stopper = Stopper::new();
            let map = echoes().await?;
            let (opened, listening) = oneshot::channel();
            let (clock, questions) = mpsc::unbounded_channel();
            let stop = stopper.subscribe();
            let routed = map.clone();
            // Profilers tell threads apart by name.
            let name = format!("router {}", routing.name());
            let thread = std::thread::Builder::new().name(name).spawn(move || {
                pin(router_core)?;
                block_on(router(routing, routed, opened, questions, stop))
            });
            let thread =
                thread.map_err(Error::while_doing(ErrorKind::Core, "starting the router's thread"))?;
            let driven = match listening.await {
                Ok(router) => drive(&Service { map, router, clock }).await,
                // The router's thread has the error.
                Err(_) => Err(Error::new(ErrorKind::Core, "the router did not start")),
            };
            stopper.stop();
            let routed = thread.join();
            routed.unwrap_or_else(|_| Err(Error::new(ErrorKind::Core, "the router's thread panicked")))?;
            driven
        })
    })
}

fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    LocalSet::new().block_on(&runtime()?, work)
}

/// Starts shards that return messages as they came.
async fn echoes() -> Result<ShardMap, Error> {
    let mut addrs = Vec::new();
    for _ in 0..SHARDS {
        let stack = make_stack!(Encoded::like(&Messages::new()));
        let incoming = stack.listen(bertha::datapath(), ANY_PORT).await;
        let mut incoming = incoming.map_err(failed("opening a shard"))?;
        addrs.push(incoming.local_addr());
        spawn_local(async move {
            while let Some(client) = incoming.next_or_refusal().await {
                // A refused client reports an error of its own.
                if let Ok(client) = client {
                    spawn_local(echo(client));
                }
            }
        });
    }
    shard_map(addrs).map_err(failed("making a shard map"))
}

/// Returns messages to their sender until the router is gone.
async fn echo(client: impl Connection<Data = Buf>) {
    let mut burst = Vec::new();
    while client.recv_batch(&mut burst, BURST).await.is_ok() {
        if client.send_batch(burst.drain(..)).await.is_err() {
            return;
        }
    }
}

async fn router(
    routing: Routing,
    map: ShardMap,
    opened: oneshot::Sender<SocketAddr>,
    mut questions: mpsc::UnboundedReceiver<oneshot::Sender<Duration>>,
    stop: Stop,
) -> Result<(), Error> {
    spawn_local(async move {
        while let Some(question) = questions.recv().await {
            // The receiver may be gone.
            let _ = question.send(thread_time());
        }
    });
    let stack = make_stack!(ServerShard::new(map), Messages::new());
    match routing {
        Routing::Decoding => listen(stack, opened, stop).await,
        Routing::Raw => listen(optimize!(stack, RouteUndecoded), opened, stop).await,
    }
}

async fn listen<S>(stack: S, opened: oneshot::Sender<SocketAddr>, stop: Stop) -> Result<(), Error>
where
    S: Negotiate + 'static,
    Udp: Runs<S, Out: Connection<Data = Message>>,
{
    let listening =
        Listening::open(stack, ANY_PORT, Settings::default()).await.map_err(failed("opening the router"))?;
    // The receiver may be gone.
    let _ = opened.send(listening.addr().map_err(failed("opening the router"))?);
    listening.serve(Router, stop).await;
    Ok(())
}

fn failed(doing: &'static str) -> impl FnOnce(bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}
