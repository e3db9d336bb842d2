//! The store: a router on one core, two shards and whoever drives them on another.

use super::Wire;
use crate::encoded::Encoded;
use crate::{Error, ErrorKind, cores};
use bertha::Buf;
use bertha::chunnels::shard::RouteUndecoded;
use bertha::chunnels::{Serialize, ServerShard, ShardMap};
use bertha::kernel::Udp;
use bertha::prelude::*;
use bertha_kvstore::server::{Listening, Router, Stop, Stopper};
use bertha_kvstore::{Message, shard_map};
use rustix::time::{ClockId, clock_gettime};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const SHARDS: usize = 2;

/// The most messages that a shard sends back at once.
const BURST: usize = 256;

/// How the router finds keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// It decodes messages, and encodes them again.
    Decoding,
    /// It reads keys where they are: the same stack after [`RouteUndecoded`].
    Raw,
}

/// The running store.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) map: ShardMap,
    pub(super) router: SocketAddr,
    clock: mpsc::UnboundedSender<oneshot::Sender<Duration>>,
}

impl Service {
    /// What the router's thread has spent so far.
    pub(super) async fn cpu_time(&self) -> Result<Duration, Error> {
        let (answer, answered) = oneshot::channel();
        // If the router is gone, nobody answers.
        let _ = self.clock.send(answer);
        answered.await.map_err(Error::while_doing(ErrorKind::Core, "asking the router's thread for its time"))
    }
}

/// Starts the store, and drives it from the core of the shards.
pub(super) fn run<T: Send>(
    routing: Routing,
    drive: impl AsyncFnOnce(&Service) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let usable = cores::usable()?;
    let Some((&shard_core, &[router_core, ..])) = usable.split_last() else {
        return Err(Error::new(ErrorKind::Core, "the router and its shards need two cores"));
    };
    cores::run_on(shard_core, || {
        block_on(async {
            let stopper = Stopper::new();
            let map = echoes().await?;
            let (opened, listening) = oneshot::channel();
            let (clock, questions) = mpsc::unbounded_channel();
            let (stop, routed) = (stopper.subscribe(), map.clone());
            // Profilers tell threads apart by name.
            let name = match routing {
                Routing::Decoding => "router-decoding",
                Routing::Raw => "router-raw",
            };
            let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
                cores::pin(router_core)?;
                block_on(router(routing, routed, opened, questions, stop))
            });
            let thread =
                thread.map_err(Error::while_doing(ErrorKind::Core, "starting the router's thread"))?;
            let driven = match listening.await {
                Ok(router) => drive(&Service { map, router, clock }).await,
                // Its thread says why.
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
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))?;
    LocalSet::new().block_on(&runtime, work)
}

/// Shards that send messages back as they came.
async fn echoes() -> Result<ShardMap, Error> {
    let mut addrs = Vec::new();
    for _ in 0..SHARDS {
        let stack = make_stack!(Encoded::like(&Serialize::<Message, Wire>::new()));
        let incoming = stack.listen(bertha::datapath(), ANY_PORT).await;
        let mut incoming = incoming.map_err(failed("opening a shard"))?;
        addrs.push(incoming.local_addr());
        spawn_local(async move {
            while let Some(client) = incoming.next().await {
                // Whoever was refused says so itself.
                if let Ok(client) = client {
                    spawn_local(echo(client));
                }
            }
        });
    }
    shard_map(addrs).map_err(failed("making a shard map"))
}

/// Sends back what comes until the router is gone.
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
            // Who asked may be gone.
            let _ = question.send(cpu_time());
        }
    });
    let stack = make_stack!(ServerShard::new(map), Serialize::<Message, Wire>::new());
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
    let listening = Listening::open(stack, ANY_PORT).await.map_err(failed("opening the router"))?;
    // Who waits for it may be gone.
    let _ = opened.send(listening.addr().map_err(failed("opening the router"))?);
    listening.serve(Router, stop).await;
    Ok(())
}

/// What the calling thread has spent, in the kernel and outside.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn failed(doing: &'static str) -> impl FnOnce(bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}
