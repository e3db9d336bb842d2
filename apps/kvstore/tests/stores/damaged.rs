//! A network that damages datagrams and computes UDP's checksum anew, as some middleboxes do: between
//! clients, router and shards.

use bertha::Addr;
use bertha::chunnels::{Checksum, ClientShard, ServerShard, ShardMap};
use bertha::prelude::*;
use bertha_kvstore::{Body, Capacity, Message, Messages, Options, Server, Shards};
use bertha_tests::DamagingProxy;
use std::time::Duration;

const KEYS: u64 = 300;

/// Returns a value that shows by itself if it is right.
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

/// Puts and gets each key, and returns the number of wrong answers.
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
    let (mut shards, mut proxies) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let shard = Server::start_shard(([127, 0, 0, 1], 0).into(), Capacity::default(), None).unwrap();
        proxies.push(DamagingProxy::start(shard.addr(), seed + 100 * proxies.len() as u64).await);
        shards.push(shard);
    }
    let addrs = proxies.iter().map(|proxy| Addr::from(proxy.addr())).collect();
    let router = Server::start(Options { shards: Shards::Remote(addrs), ..Options::default() }).unwrap();
    proxies.push(DamagingProxy::start(router.addr(), seed).await);
    let addr = proxies.last().unwrap().addr();
    let store = stack(router.map().clone()).connect(bertha::datapath(), addr).await.unwrap();
    assert_eq!(wrong_answers(&store).await, 0, "seed {seed}");
    assert!(proxies.iter().map(DamagingProxy::damaged).sum::<u64>() > KEYS / 16, "seed {seed}");
}

#[tokio::test]
async fn a_damaged_datagram_is_no_wrong_value_to_a_client_that_routes() {
    run(|map| make_stack!(ClientShard::new(map), Messages::new(), Checksum::new()), 1).await;
}

#[tokio::test]
async fn a_damaged_datagram_is_no_wrong_value_behind_a_router() {
    run(|map| make_stack!(ServerShard::new(map), Messages::new(), Checksum::new()), 2).await;
}
