//! The router, whose address clients connect to.

use super::kernel::KernelShards;
use super::listening::Datapath;
use super::thread::{self, Addrs, Opened, Thread};
use super::{Handler, Listening, Stopper};
use crate::{Message, Messages, Sharding};
use bertha::chunnels::{Checksum, ClientShard, KernelShard, LocalShards, ServerShard, ShardMap};
use bertha::prelude::*;
use bertha::{Error, ErrorKind, Settings, plain_stack};
use bertha_program::tls::Encryption;
use std::net::SocketAddr;

/// Largest number of messages that are taken from a connection at once.
const BURST: usize = 64;

/// A handler for clients that leave routing to this end. Receiving alone makes the stack route.
#[derive(Clone, Copy, Debug)]
pub struct Router;

impl Handler for Router {
    async fn serve<C>(&self, connection: &C) -> Error
    where
        C: Connection<Data = Message>,
    {
        let mut strays = Vec::new();
        loop {
            // The client agreed to route by itself; a request that arrives here belongs to no shard.
            match connection.recv_batch(&mut strays, BURST).await {
                Ok(count) => tracing::debug!(count, "requests that belong to a shard came to the router"),
                Err(ended) => return ended,
            }
            strays.clear();
        }
    }
}

/// The way in which the router finds the remote shard of a request. Local shards get decoded messages in any
/// case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Routing {
    /// The router reads the key at its place in the bytes of a message, and passes the bytes on.
    #[default]
    Raw,
    /// The router decodes each message, and encodes it again: for comparison.
    Decoding,
}

/// The shards of this process.
pub(super) struct Local {
    /// The queues of requests that this end routes.
    pub(super) queues: LocalShards<Message>,
    /// The shards to which the kernel may route, on runtimes of tokio.
    pub(super) kernel: Option<KernelShards>,
}

/// Starts the router's thread, with the stack that `sharding`, `routing`, the place of the shards and the
/// encryption require.
pub(super) fn start(
    addr: SocketAddr,
    encryption: Option<Encryption>,
    sharding: Sharding,
    routing: Routing,
    map: &ShardMap,
    local: Option<Local>,
    stopper: &Stopper,
) -> Result<Thread, Error> {
    let client = make_stack!(ClientShard::new(map.clone()), Messages::new());
    let server = ServerShard::new(map.clone());
    // The passes of this crate make it route undecoded messages.
    let remote = make_stack!(server.clone(), Messages::new());
    let decoding = plain_stack!(server.clone(), Messages::new());
    let kernel = KernelShard::new(map.clone());
    let settings = Settings::default();
    // Each combination is a type of its own, and no bound can say that a type parameter runs over both of two
    // lower parts.
    macro_rules! over {
        ($settings:expr, $lower:expr) => {{
            let router = Serving { addr, settings: $settings, stopper };
            match (sharding, local, routing) {
                (Sharding::Client, _, _) => router.serve(make_stack!(client, $lower), Router),
                (Sharding::Server, Some(Local { queues, .. }), _) => {
                    let stack = make_stack!(server.local(queues)?, Messages::new(), $lower);
                    router.serve(stack, Router)
                }
                (Sharding::Server, None, Routing::Decoding) => {
                    router.serve(plain_stack!(decoding, $lower), Router)
                }
                (Sharding::Server, None, Routing::Raw) => router.serve(make_stack!(remote, $lower), Router),
                (Sharding::Kernel, Some(Local { kernel: Some(shards), .. }), _) => {
                    let strays = shards.strays(map.clone());
                    router.serve(make_stack!(kernel.serve(shards), Messages::new(), $lower), strays)
                }
                (Sharding::Kernel, _, _) => {
                    let what = "the kernel hands requests to local shards, in threads of tokio alone";
                    Err(Error::new(ErrorKind::Invalid, what))
                }
                (Sharding::Either, Some(Local { queues, kernel: None }), _) => {
                    let server = make_stack!(server.local(queues)?, Messages::new());
                    router.serve(make_stack!(select!(client, server), $lower), Router)
                }
                (Sharding::Either, Some(Local { queues, kernel: Some(shards) }), _) => {
                    let strays = shards.strays(map.clone());
                    // The kernel leads with few requests in flight. With many, the client leads: its
                    // datagrams reach a shard joined, which the kernel does over the loopback interface alone.
                    let kernel = make_stack!(kernel.serve(shards), Messages::new());
                    let server = make_stack!(server.local(queues)?, Messages::new());
                    router.serve(make_stack!(select!(client, kernel, server), $lower), strays)
                }
                (Sharding::Either, None, Routing::Decoding) => {
                    router.serve(plain_stack!(select!(client, decoding), $lower), Router)
                }
                (Sharding::Either, None, Routing::Raw) => {
                    router.serve(make_stack!(select!(client, remote), $lower), Router)
                }
            }
        }};
    }
    match encryption {
        None => over!(settings, Checksum::new()),
        Some(encryption) => over!(encryption.settings(settings), encryption.wire()),
    }
}

/// The settings of a router.
struct Serving<'a> {
    addr: SocketAddr,
    settings: Settings,
    stopper: &'a Stopper,
}

impl Serving<'_> {
    fn serve<S>(self, stack: S, handler: impl Handler) -> Result<Thread, Error>
    where
        S: Negotiate + 'static,
        Datapath: Runs<S, Out: Connection<Data = Message>>,
    {
        let Self { addr, settings, stopper } = self;
        let stop = stopper.subscribe();
        thread::start(
            "router".to_owned(),
            async move {
                let listening = Listening::open(stack, addr, settings).await?;
                let addrs = Addrs { bertha: listening.addr()?, resp: Vec::new(), shared: Vec::new() };
                Ok(Opened { addrs, listeners: listening })
            },
            move |listening: Listening<S>| listening.serve(handler, stop),
        )
    }
}
