//! A message costs no allocation except those of its own content.

#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_allocations::{Counting, in_thread};
use bertha_chunnels::serialize::{Bincode, Cbor, Codec, Json, MessagePack, Postcard};
use bertha_chunnels::{ClientShard, Keyed, Metrics, Nothing, Pace, Serialize, ShardMap};
use bertha_core::{
    Addr, BoxFuture, Chunnel, ConnectContext, Connected, Connection, Connector, Error, Node, Role, Wrap,
    make_stack,
};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

#[allow(dead_code, reason = "shared with the unit tests, which use more of it")]
#[global_allocator]
static COUNTING: Counting = Counting;

/// Lets one test count at a time, since threads share the pool of buffers.
static ALONE: Mutex<()> = Mutex::new(());

/// The number of allocations of the second of two runs. The first may fill pools and grow queues.
fn allocations_once_warm(mut run: impl FnMut()) -> u64 {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    run();
    in_thread(run).1
}

/// Runs a future that never waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("had to wait"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
struct Small {
    key: [u8; 8],
    value: u64,
}

impl Keyed for Small {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

fn messages() -> impl Iterator<Item = Small> + Send {
    (0..100).map(|value: u64| Small { key: value.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes(), value })
}

fn both_ways_through<A, B>(here: &A, there: &B)
where
    A: Connection<Data = Small>,
    B: Connection<Data = Small>,
{
    let mut burst = Vec::with_capacity(200);
    let count = allocations_once_warm(|| {
        for message in messages() {
            now(here.send(message)).unwrap();
            assert_eq!(now(there.recv()).unwrap(), message);
        }
        burst.clear();
        now(there.send_batch(messages())).unwrap();
        while burst.len() < 100 {
            now(here.recv_batch(&mut burst, 64)).unwrap();
        }
    });
    assert_eq!(count, 0);
}

fn serialized<C: Codec<Small> + Default>() {
    let stack = make_stack!(Nothing, Serialize::<Small, C>::new(), Nothing);
    let (here, there) = pair_of(TokioRuntime);
    both_ways_through(&now(stack.wrap(here)).unwrap(), &now(stack.wrap(there)).unwrap());
}

#[test]
fn serialising_allocates_nothing() {
    serialized::<Bincode>();
    serialized::<Postcard>();
    serialized::<Cbor>();
    serialized::<MessagePack>();
    serialized::<Json>();
}

#[test]
fn the_count_sees_what_messages_own() {
    let (here, there) = pair_of(TokioRuntime);
    let stack = Serialize::<Vec<u8>>::new();
    let (here, there) = (now(stack.wrap(here)).unwrap(), now(stack.wrap(there)).unwrap());
    let count = allocations_once_warm(|| {
        now(here.send(Vec::new())).unwrap();
        now(there.recv()).unwrap();
        now(here.send(vec![7])).unwrap();
        now(there.recv()).unwrap();
    });
    assert_eq!(count, 2);
}

#[test]
fn counting_and_pacing_allocate_nothing() {
    let metrics = Metrics::new("counted");
    let (here, there) = pair_of(TokioRuntime);
    let stack = make_stack!(metrics.clone(), metrics.clone());
    both_ways_through(&now(stack.wrap(here)).unwrap(), &now(stack.wrap(there)).unwrap());
    // Two layers, in each of two runs.
    assert_eq!(metrics.snapshot().sent.messages, 2 * 2 * 200);

    let (here, there) = pair_of(TokioRuntime);
    let stack = make_stack!(Serialize::<Small>::new(), Pace::new(u64::MAX).burst(u64::MAX));
    both_ways_through(&now(stack.wrap(here)).unwrap(), &now(stack.wrap(there)).unwrap());
}

struct Opener(Mutex<Vec<PairConnection<TokioRuntime, Small>>>);

impl Connector<PairConnection<TokioRuntime, Small>> for Opener {
    fn connect<'a>(
        &'a self,
        _: Addr,
        _: Vec<Node>,
    ) -> BoxFuture<'a, Result<Connected<PairConnection<TokioRuntime, Small>>, Error>>
    where
        PairConnection<TokioRuntime, Small>: 'a,
    {
        Box::pin(async { Ok(self.0.lock().unwrap().remove(0).into()) })
    }
}

#[test]
fn routing_at_the_client_allocates_nothing_even_when_it_waits() {
    let (here, shards): (Vec<_>, Vec<_>) = (0..6).map(|_| pair_of(TokioRuntime)).unzip();
    let map = ShardMap::new((1..=6).map(|port| Addr::Ip(([127, 0, 0, 1], port).into()))).unwrap();
    let opener = Opener(Mutex::new(here));
    let context = ConnectContext::new(&opener, Role::Client);
    let client = now(ClientShard::new(map.clone()).connect_wrap(pair_of(TokioRuntime).0, context)).unwrap();

    let mut burst = Vec::with_capacity(200);
    let count = allocations_once_warm(|| {
        for message in messages() {
            let shard = &shards[map.shard_of(message.key())];
            now(client.send(message)).unwrap();
            let reply = now(shard.recv()).unwrap();
            let mut receiving = pin!(client.recv());
            assert!(receiving.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            now(shard.send(reply)).unwrap();
            assert_eq!(now(receiving).unwrap(), message);
        }
        now(client.send_batch(messages())).unwrap();
        burst.clear();
        for shard in &shards {
            now(shard.recv_batch(&mut burst, 100)).unwrap();
            now(shard.send_batch(burst.drain(..))).unwrap();
        }
        while burst.len() < 100 {
            now(client.recv_batch(&mut burst, 64)).unwrap();
        }
    });
    assert_eq!(count, 0);
}
