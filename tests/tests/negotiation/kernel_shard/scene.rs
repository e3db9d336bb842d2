//! A server with shards in threads of their own, and its clients.

use bertha_chunnels::shard::ServeShards;
use bertha_chunnels::{Checksum, KernelShard, Keyed, Serialize, ShardMap};
use bertha_core::{Addr, Connection, Datapath, Error, Listener, Steering, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Settings};
use bertha_tests::{skip, skip_anywhere};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub(super) const SHARDS: usize = 5;

/// A time that is far longer than anything here takes, however busy the machine is.
pub(super) const LONG: Duration = Duration::from_secs(60);

/// The idle time-out of connections whose peer goes away.
const IDLE: Duration = Duration::from_secs(3);

/// A request, or the reply of a shard. Replies of the connection itself name no shard.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Message {
    pub(super) key: Vec<u8>,
    pub(super) id: u64,
    pub(super) shard: Option<usize>,
}

impl Keyed for Message {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

pub(super) fn request(id: u64, key: impl Into<Vec<u8>>) -> Message {
    Message { key: key.into(), id, shard: None }
}

pub(super) fn map() -> ShardMap {
    let addrs = (1..=SHARDS as u16).map(|port| Addr::Ip(([127, 0, 0, 1], port).into()));
    ShardMap::new(addrs).unwrap().skip(2)
}

pub(super) fn settings() -> Settings {
    Settings::default().idle_timeout(IDLE)
}

/// Returns true if this process may steer by the kernel, and reports that a test is skipped if not.
pub(super) async fn can_steer() -> bool {
    let listener = Udp::new().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    match listener.steer(&Steering::new(8, 0, NonZero::<usize>::MIN)) {
        Ok(()) => true,
        Err(error) => {
            let is_root = rustix::process::geteuid().is_root();
            // The containers of CI may lack the capability.
            if is_root {
                skip_anywhere(&error.to_string())
            } else {
                skip(&error.to_string())
            }
            false
        }
    }
}

/// Shards that each have a thread, and answer there.
#[derive(Clone)]
pub(super) struct Threads {
    handles: Vec<Handle>,
    pub(super) counts: Arc<Counts>,
}

/// What the shards of a server have done.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The requests that shards have answered.
    pub(super) served: AtomicU64,
    /// The requests that came to the connection itself.
    pub(super) strays: AtomicU64,
    /// The siblings that have ended.
    pub(super) ended: AtomicU64,
}

impl Threads {
    pub(super) fn start() -> Self {
        let start = |number| {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let handle = runtime.handle().clone();
            let run = move || runtime.block_on(std::future::pending::<()>());
            std::thread::Builder::new().name(format!("shard {number}")).spawn(run).unwrap();
            handle
        };
        Self { handles: (0..SHARDS).map(start).collect(), counts: Arc::default() }
    }

    /// Waits until all siblings of a connection have ended.
    pub(super) async fn until_ended(&self, connections: u64) {
        let ended = async {
            while self.counts.ended.load(Relaxed) < connections * SHARDS as u64 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, ended).await.expect("siblings outlive their connection");
    }
}

impl ServeShards<Message> for Threads {
    fn serve<C: Connection<Data = Message>>(&self, shard: usize, sibling: C) {
        let counts = self.counts.clone();
        self.handles[shard].spawn(async move {
            assert_eq!(std::thread::current().name(), Some(&*format!("shard {shard}")));
            let mut requests = Vec::new();
            while let Ok(count) = sibling.recv_batch(&mut requests, 64).await {
                counts.served.fetch_add(count as u64, Relaxed);
                let replies = requests.drain(..).map(|request| Message { shard: Some(shard), ..request });
                if sibling.send_batch(replies).await.is_err_and(|error| error.ends_connection()) {
                    break;
                }
            }
            drop(sibling);
            counts.ended.fetch_add(1, Relaxed);
        });
    }
}

/// A server, which ends with the value.
pub(super) struct Server {
    pub(super) addr: Addr,
    pub(super) threads: Threads,
    /// The number of messages that each connection has dropped, and the error with which it ended.
    pub(super) ended: mpsc::UnboundedReceiver<(u64, Error)>,
    _stop: oneshot::Sender<()>,
}

/// Starts a server at this address.
pub(super) async fn serve(on: &str) -> Server {
    let threads = Threads::start();
    let stack = make_stack!(
        KernelShard::new(map()).serve(threads.clone()),
        Serialize::<Message>::new(),
        Checksum::new()
    );
    let on: Addr = on.parse().unwrap();
    let mut incoming = stack.listen(Udp::new(), on).settings(settings()).await.unwrap();
    let addr = incoming.local_addr();
    let (tell, ended) = mpsc::unbounded_channel();
    let (stop, mut stopped) = oneshot::channel::<()>();
    let counts = threads.counts.clone();
    tokio::spawn(async move {
        loop {
            let connection = tokio::select! {
                connection = incoming.next() => connection.unwrap(),
                _ = &mut stopped => return,
            };
            let (tell, counts) = (tell.clone(), counts.clone());
            tokio::spawn(async move {
                let error = loop {
                    match connection.recv().await {
                        Ok(stray) => {
                            counts.strays.fetch_add(1, Relaxed);
                            let _ = connection.send(stray).await;
                        }
                        Err(error) => break error,
                    }
                };
                let _ = tell.send((connection.drops().total(), error));
            });
        }
    });
    Server { addr, threads, ended, _stop: stop }
}

/// Connects to a server, and waits until the kernel steers.
pub(super) async fn connect(to: Addr) -> impl Connection<Data = Message> {
    let stack = make_stack!(KernelShard::new(map()), Serialize::<Message>::new(), Checksum::new());
    let connection = stack.connect(Udp::new(), to).settings(settings()).await.unwrap();
    let steered = async {
        for id in 0.. {
            if ask(&connection, request(u64::MAX - id, b"..first")).await.shard.is_some() {
                break;
            }
        }
    };
    timeout(LONG, steered).await.expect("the kernel does not steer");
    connection
}

/// Returns the reply to a request, which is repeated until it comes.
pub(super) async fn ask(client: &impl Connection<Data = Message>, request: Message) -> Message {
    loop {
        client.send(request.clone()).await.unwrap();
        while let Ok(reply) = timeout(Duration::from_millis(500), client.recv()).await {
            let reply = reply.unwrap();
            if reply.id == request.id {
                return reply;
            }
        }
    }
}
