//! A network that damages datagrams and computes UDP's checksum anew, as some middleboxes do: between clients, router and shards.

#![allow(clippy::unwrap_used)]

use bertha::Addr;
use bertha::chunnels::{Checksum, ClientShard, Serialize, ServerShard, ShardMap};
use bertha::prelude::*;
use bertha_kvstore::{Body, Capacity, Message, Options, Server, Shards};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::UdpSocket;

const KEYS: u64 = 300;

/// One datagram in so many is damaged.
const DAMAGED: u64 = 16;

/// The longest datagram of the test.
const LONGEST: usize = 2048;

/// Flips one bit of some datagrams.
#[derive(Debug)]
struct Mangler {
    state: AtomicU64,
    damaged: AtomicU64,
}

impl Mangler {
    fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self { state: AtomicU64::new(seed), damaged: AtomicU64::new(0) })
    }

    /// SplitMix64.
    fn draw(&self) -> u64 {
        let mut z = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn mangle(&self, datagram: &mut [u8]) {
        if self.draw().is_multiple_of(DAMAGED) {
            let bit = self.draw() % (8 * datagram.len() as u64);
            datagram[(bit / 8) as usize] ^= 1 << (bit % 8);
            self.damaged.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// An address by which `server` is reached through the mangler.
async fn through(mangler: &Arc<Mangler>, server: SocketAddr) -> SocketAddr {
    let front = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap());
    let (addr, mangler) = (front.local_addr().unwrap(), mangler.clone());
    tokio::spawn(async move {
        let (mut backs, mut datagram) = (HashMap::<_, Arc<UdpSocket>>::new(), [0; LONGEST]);
        loop {
            let Ok((length, client)) = front.recv_from(&mut datagram).await else { continue };
            let back = match backs.entry(client) {
                Entry::Occupied(back) => back.into_mut(),
                Entry::Vacant(none) => {
                    let back = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap());
                    back.connect(server).await.unwrap();
                    tokio::spawn(replies(back.clone(), front.clone(), client, mangler.clone()));
                    none.insert(back)
                }
            };
            mangler.mangle(&mut datagram[..length]);
            // A datagram that can't be sent is lost.
            let _ = back.send(&datagram[..length]).await;
        }
    });
    addr
}

async fn replies(back: Arc<UdpSocket>, front: Arc<UdpSocket>, client: SocketAddr, mangler: Arc<Mangler>) {
    let mut datagram = [0; LONGEST];
    loop {
        let Ok(length) = back.recv(&mut datagram).await else { continue };
        mangler.mangle(&mut datagram[..length]);
        let _ = front.send_to(&datagram[..length], client).await;
    }
}

/// A value that says by itself whether it is right.
fn value(key: u64) -> Vec<u8> {
    (0..64).map(|at| (key.wrapping_mul(31) >> (at % 8)) as u8 ^ at as u8).collect()
}

async fn ask(store: &impl Connection<Data = Message>, request: Message) -> Body {
    loop {
        store.send(request.clone()).await.unwrap();
        let waiting = async {
            loop {
                let reply = store.recv().await.unwrap();
                if reply.id == request.id {
                    return reply.body;
                }
            }
        };
        if let Ok(body) = tokio::time::timeout(Duration::from_millis(20), waiting).await {
            return body;
        }
    }
}

/// Puts and gets each key, and returns the number of answers that are not right.
async fn wrong_answers(store: &impl Connection<Data = Message>) -> usize {
    let mut wrong = 0;
    for key in 0..KEYS {
        let name = format!("user{}", 7919 * key);
        let stored = ask(store, Message::put(2 * key, name.as_str(), value(key))).await;
        let found = ask(store, Message::get(2 * key + 1, name.as_str())).await;
        wrong += usize::from(stored != Body::Stored) + usize::from(found != Body::Found(value(key).into()));
    }
    wrong
}

async fn run<S>(stack: impl Fn(ShardMap) -> S, seed: u64)
where
    S: Negotiate + Sync,
    bertha::DefaultDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    let mangler = Mangler::new(seed);
    let (mut shards, mut addrs) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let shard = Server::start_shard(([127, 0, 0, 1], 0).into(), Capacity::default(), None).unwrap();
        addrs.push(Addr::from(through(&mangler, shard.addr()).await));
        shards.push(shard);
    }
    let router = Server::start(Options { shards: Shards::Remote(addrs), ..Options::default() }).unwrap();
    let addr = through(&mangler, router.addr()).await;
    let store = stack(router.map().clone()).connect(bertha::datapath(), addr).await.unwrap();
    assert_eq!(wrong_answers(&store).await, 0, "seed {seed}");
    assert!(mangler.damaged.load(Ordering::Relaxed) > KEYS / DAMAGED, "seed {seed}");
}

#[tokio::test]
async fn a_damaged_datagram_is_no_wrong_value_to_a_client_that_routes() {
    run(|map| make_stack!(ClientShard::new(map), Serialize::<Message>::new(), Checksum::new()), 1).await;
}

#[tokio::test]
async fn a_damaged_datagram_is_no_wrong_value_behind_a_router() {
    run(|map| make_stack!(ServerShard::new(map), Serialize::<Message>::new(), Checksum::new()), 2).await;
}
