//! What the two ends compare.

use bertha_core::Capability;
use serde::{Deserialize, Serialize};

/// Who routes messages, and how. Two ends are compatible if all of it is equal, so both are known to agree on the
/// shard of every key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(exact)]
pub struct Sharding {
    /// Which end routes.
    pub routed_by: RoutedBy,
    /// The function from keys to shards, in words.
    pub function: String,
    /// How many bytes at the start of a key it ignores.
    pub skip: u64,
    /// The shards' addresses, in order.
    pub shards: Vec<String>,
}

/// Which end looks at keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RoutedBy {
    /// The client, with [`ClientShard`](super::ClientShard).
    Client,
    /// The server, with [`ServerShard`](super::ServerShard).
    Server,
}
