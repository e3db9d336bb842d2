//! Scans of whole stores over kernel UDP, by clients on either side of sharding.

use bertha::chunnels::{Checksum, ClientShard, KernelShard, ServerShard};
use bertha::prelude::*;
use bertha::{ErrorKind, Negotiated};
use bertha_kvstore::{
    Body, Capacity, MAX_SCAN, Message, Messages, Options, Reason, Server, Sharding, Shards,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const KEYS: usize = 700;

fn start(shards: u16, sharding: Sharding) -> Server {
    Server::start(Options { shards: Shards::Local(shards), sharding, ..Options::default() }).unwrap()
}

/// Works as [`start`]. Returns `None`, and tells so, if the kernel does not steer for this process.
fn start_or_skip(shards: u16, sharding: Sharding) -> Option<Server> {
    match Server::start(Options { shards: Shards::Local(shards), sharding, ..Options::default() }) {
        Err(error) if error.kind() == ErrorKind::Unavailable && std::env::var_os("CI").is_none() => {
            eprintln!("SKIPPED: {error}");
            None
        }
        started => Some(started.unwrap()),
    }
}

fn name(key: usize) -> String {
    format!("user{:05}", key * 7919 % 100_000)
}

/// A client that repeats lost requests.
struct Client<C> {
    connection: C,
    next_id: AtomicU64,
}

impl<C: Connection<Data = Message>> Client<C> {
    fn new(connection: C) -> Self {
        Self { connection, next_id: AtomicU64::new(1) }
    }

    async fn ask(&self, request: Message) -> Body {
        let request = Message { id: self.next_id.fetch_add(1, Ordering::Relaxed), ..request };
        loop {
            self.connection.send(request.clone()).await.unwrap();
            let waiting = async {
                loop {
                    let reply = self.connection.recv().await.unwrap();
                    if reply.id == request.id {
                        assert_eq!(reply.key, request.key);
                        return reply.body;
                    }
                }
            };
            if let Ok(body) = tokio::time::timeout(Duration::from_millis(500), waiting).await {
                return body;
            }
        }
    }

    async fn put(&self, key: &str, value: &[u8]) {
        assert_eq!(self.ask(Message::put(0, key, value)).await, Body::Stored);
    }

    /// Reads up to `count` records from `from` on, whose keys ascend, and returns them with the number of
    /// pages.
    async fn scan(&self, from: &str, count: usize) -> (BTreeMap<String, Vec<u8>>, usize) {
        let (mut records, mut pages) = (BTreeMap::new(), 0);
        let mut next = Some(from.into());
        while let Some(key) = next.filter(|_| records.len() < count) {
            let left = (count - records.len()).min(MAX_SCAN) as u32;
            let Body::Records(page) = self.ask(Message::scan(0, key, left)).await else { panic!() };
            assert!(page.records.len() <= left as usize);
            for record in page.records {
                let key = record.key.to_string();
                assert!(records.last_key_value().is_none_or(|(last, _)| *last < key));
                records.insert(key, record.value.to_vec());
            }
            next = page.next;
            pages += 1;
        }
        (records, pages)
    }
}

async fn connect<S>(
    stack: S,
    server: &Server,
) -> Client<Negotiated<<bertha::DefaultDatapath as Runs<S>>::Out>>
where
    S: Negotiate,
    bertha::DefaultDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    let connection = stack.connect(bertha::datapath(), server.addr()).await.unwrap();
    Client::new(connection)
}

macro_rules! stack {
    ($routing:expr) => {
        make_stack!($routing, Messages::new(), Checksum::new())
    };
}

/// Fills a store and compares its scans with a map.
async fn agrees_with_a_map<C: Connection<Data = Message>>(client: &Client<C>) {
    let model: BTreeMap<_, _> = (0..KEYS).map(|key| (name(key), vec![key as u8; 1 + key % 900])).collect();
    for (key, value) in &model {
        client.put(key, value).await;
    }
    for (from, count) in [("", KEYS + 9), ("user00300", 100), ("user5", 1), ("user99", KEYS), ("v", 9)] {
        let (records, pages) = client.scan(from, count).await;
        let expected = model.range(from.to_owned()..).take(count);
        assert!(records.iter().eq(expected), "{count} from {from}");
        assert!(pages > 1 || records.len() <= 100, "300 kB of records need several messages");
    }
    for count in [0, MAX_SCAN as u32 + 1, u32::MAX] {
        let refused = client.ask(Message::scan(0, "user", count)).await;
        assert_eq!(refused, Body::Failed(Reason::ScanOutOfRange));
    }
    assert_eq!(client.ask(Message::delete(0, name(3))).await, Body::Stored);
    let (records, _) = client.scan("", KEYS).await;
    assert_eq!((records.len(), records.contains_key(&name(3))), (KEYS - 1, false));
}

#[tokio::test]
async fn a_scan_is_the_same_on_either_side_of_sharding_and_with_any_number_of_shards() {
    for shards in [1, 2, 5] {
        for sharding in [Sharding::Client, Sharding::Server, Sharding::Kernel, Sharding::Either] {
            let Some(server) = start_or_skip(shards, sharding) else { continue };
            let map = server.map().clone();
            let (client, routed) = (ClientShard::new(map.clone()), ServerShard::new(map.clone()));
            match sharding {
                Sharding::Kernel => {
                    agrees_with_a_map(&connect(stack!(KernelShard::new(map)), &server).await).await;
                }
                Sharding::Client => agrees_with_a_map(&connect(stack!(client), &server).await).await,
                Sharding::Server => agrees_with_a_map(&connect(stack!(routed), &server).await).await,
                Sharding::Either => {
                    agrees_with_a_map(&connect(stack!(select!(client, routed)), &server).await).await;
                }
            }
            server.stop().unwrap();
        }
    }
}

/// Scans the whole store again and again while another client inserts, updates and deletes other records.
async fn misses_nothing<S>(stack: S, server: &Server)
where
    S: Negotiate + Clone + 'static,
    bertha::DefaultDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    let reader = connect(stack.clone(), server).await;
    let before: BTreeSet<_> = (0..KEYS).map(name).collect();
    for key in &before {
        reader.put(key, &[7; 300]).await;
    }
    let writer = connect(stack, server).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    let writing = tokio::spawn(async move {
        let mut written = 0;
        while !over.load(Ordering::Relaxed) {
            // Between the keys of before, and gone again soon.
            let key = format!("{}+", name(written % KEYS));
            writer.put(&key, &[8; 300]).await;
            assert_eq!(writer.ask(Message::update(0, name(written % KEYS), 0, [9])).await, Body::Stored);
            if written % 2 == 0 {
                assert_eq!(writer.ask(Message::delete(0, key)).await, Body::Stored);
            }
            written += 1;
        }
        written
    });
    let mut inserted = 0;
    for _ in 0..20 {
        let (records, _) = reader.scan("", 10 * KEYS).await;
        let (kept, new): (BTreeSet<_>, BTreeSet<_>) =
            records.into_keys().partition(|key| before.contains(key));
        assert_eq!(kept.len(), before.len(), "missed {:?}", before.difference(&kept).collect::<Vec<_>>());
        inserted = inserted.max(new.len());
    }
    is_over.store(true, Ordering::Relaxed);
    let written = writing.await.unwrap();
    assert!(written > 0 && inserted > 0, "nothing was inserted meanwhile");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_misses_no_record_while_others_come_and_go() {
    let server = start(3, Sharding::Either);
    let map = server.map().clone();
    misses_nothing(stack!(ClientShard::new(map.clone())), &server).await;
    misses_nothing(stack!(ServerShard::new(map)), &server).await;
}

#[tokio::test]
async fn many_scans_at_a_time_are_all_answered_and_hold_up_no_other_request() {
    let server = start(3, Sharding::Either);
    let map = server.map().clone();
    let client = connect(stack!(ClientShard::new(map)), &server).await;
    for key in 0..50 {
        client.put(&name(key), &[1; 20]).await;
    }
    // More than the shards have under way at a time.
    const SCANS: u64 = 1500;
    let mut waiting: BTreeSet<u64> = (1_000_000..1_000_000 + SCANS).collect();
    while !waiting.is_empty() {
        let some: Vec<_> = waiting.iter().copied().take(400).collect();
        for id in some {
            let from = name(id as usize % 50);
            client.connection.send(Message::scan(id, from, 3)).await.unwrap();
        }
        let arriving = async {
            while !waiting.is_empty() {
                let reply = client.connection.recv().await.unwrap();
                let Body::Records(page) = &reply.body else { panic!("{reply:?}") };
                assert!((1..=3).contains(&page.records.len()));
                assert_eq!(page.records[0].key, reply.key);
                waiting.remove(&reply.id);
            }
        };
        // Some are lost where a queue is full.
        let _ = tokio::time::timeout(Duration::from_millis(100), arriving).await;
    }
    assert_eq!(client.ask(Message::get(0, name(7))).await, Body::Found([1; 20].into()));
}

#[tokio::test]
async fn a_shard_in_a_process_of_its_own_refuses_scans() {
    let shard = Server::start_shard(([127, 0, 0, 1], 0).into(), Capacity::default(), None).unwrap();
    let shards = Shards::Remote(vec![shard.addr().into()]);
    let server = Server::start(Options { shards, ..Options::default() }).unwrap();
    let client = connect(stack!(ServerShard::new(server.map().clone())), &server).await;
    client.put("user1", &[1]).await;
    assert_eq!(client.ask(Message::scan(0, "user1", 1)).await, Body::Failed(Reason::PartOfStore));
}
