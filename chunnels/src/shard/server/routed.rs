//! The messages that a server has forwarded.

use bertha_core::statistics::{LayerStatistics, Observed, Value};
use bertha_core::{DropCounter, Statistics};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The messages of one client that a connection of [`ServerShard`](super::ServerShard) has forwarded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerShardStatistics {
    /// Requests to each shard, in the order of the map.
    pub requests: Vec<u64>,
    /// Replies of all shards.
    pub replies: u64,
}

impl LayerStatistics for ServerShardStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("shards", Value::Number(self.requests.len() as u64)),
            ("requests", Value::Total(self.requests.iter().sum())),
            (
                "requests_to_busiest_shard",
                Value::Total(self.requests.iter().copied().max().unwrap_or_default()),
            ),
            ("replies", Value::Total(self.replies)),
        ]
    }
}

/// The counters of a client's messages: one addition for each burst.
#[doc(hidden)]
#[derive(Debug)]
pub struct Routed {
    requests: Box<[AtomicU64]>,
    replies: AtomicU64,
    pub(super) dropped: DropCounter,
}

impl Routed {
    pub(in crate::shard) fn new(shards: usize, dropped: DropCounter) -> Arc<Self> {
        let requests = (0..shards).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self { requests, replies: AtomicU64::new(0), dropped })
    }

    /// Counts requests to the shard of this number.
    pub(super) fn requests(&self, shard: usize, messages: usize) {
        if let Some(count) = self.requests.get(shard) {
            count.fetch_add(messages as u64, Relaxed);
        }
    }

    pub(super) fn replies(&self, messages: usize) {
        self.replies.fetch_add(messages as u64, Relaxed);
    }
}

impl Observed for Routed {
    fn observe(&self, into: &mut Statistics) {
        let requests = self.requests.iter().map(|count| count.load(Relaxed)).collect();
        into.add("ServerShard", ServerShardStatistics { requests, replies: self.replies.load(Relaxed) });
    }
}
