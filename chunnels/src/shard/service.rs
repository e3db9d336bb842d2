//! A service of several shards in memory, for tests.

use super::{Keyed, ShardMap};
use bertha_core::{Addr, BoxFuture, Connected, Connection, Connector, Error, ErrorKind, Node};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use std::collections::HashMap;
use std::sync::Mutex;

/// A request or a reply: a key, and a number that identifies the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message(pub(super) String, pub(super) usize);

impl Keyed for Message {
    fn key(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Returns a message whose key is the number in words that differ early.
pub(super) fn message(number: usize) -> Message {
    Message(format!("{:04x}", number.wrapping_mul(40_503) & 0xffff), number)
}

/// Returns the address of a shard.
pub(super) fn addr(shard: usize) -> Addr {
    Addr::Ip(([127, 0, 0, 1], 4000 + shard as u16).into())
}

/// Returns a map of this number of shards.
pub(super) fn map(shards: usize) -> ShardMap {
    ShardMap::new((0..shards).map(addr)).unwrap()
}

/// A connector that opens one connection to each shard, once.
pub(super) struct Opener {
    connections: Mutex<HashMap<Addr, PairConnection<TokioRuntime, Message>>>,
}

/// Returns an opener to this number of shards, and the shards' ends.
pub(super) fn service(shards: usize) -> (Opener, Vec<PairConnection<TokioRuntime, Message>>) {
    let (here, there): (HashMap<_, _>, Vec<_>) = (0..shards)
        .map(|shard| {
            let (here, there) = pair_of(TokioRuntime);
            ((addr(shard), here), there)
        })
        .unzip();
    (Opener { connections: Mutex::new(here) }, there)
}

impl Connector<PairConnection<TokioRuntime, Message>> for Opener {
    fn connect<'a>(
        &'a self,
        to: Addr,
        above: Vec<Node>,
    ) -> BoxFuture<'a, Result<Connected<PairConnection<TokioRuntime, Message>>, Error>>
    where
        PairConnection<TokioRuntime, Message>: 'a,
    {
        assert!(above.is_empty());
        let opened = self.connections.lock().unwrap().remove(&to);
        let nobody = || Error::new(ErrorKind::Unreachable, "nobody there");
        Box::pin(async move { opened.map(Connected::from).ok_or_else(nobody) })
    }
}

/// Returns the messages that have arrived at `end` and were not received yet.
pub(super) async fn arrived(end: &PairConnection<TokioRuntime, Message>) -> Vec<Message> {
    let mut messages = Vec::new();
    let receiving = end.recv_batch(&mut messages, usize::MAX);
    tokio::select! {
        biased;
        received = receiving => { received.unwrap(); }
        () = std::future::ready(()) => {}
    }
    messages
}
