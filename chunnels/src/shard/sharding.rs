//! The capability that the two ends compare.

use bertha_core::capability::exact_part;
use bertha_core::{Capability, Mismatch};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The end that routes, and the way in which it routes. Two ends are compatible if all parts are equal, so
/// both agree on the shard of every key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(compare = Self::compare)]
pub struct Sharding {
    /// The end that routes.
    pub routed_by: RoutedBy,
    /// The function from keys to shards, in words.
    pub function: String,
    /// The number of bytes that are ignored at the start of a key.
    pub skip: u64,
    /// The shards' addresses, in order.
    pub shards: Vec<String>,
}

/// The end that routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RoutedBy {
    /// The client, with [`ClientShard`](super::ClientShard).
    Client,
    /// The server, with [`ServerShard`](super::ServerShard).
    Server,
    /// The server's kernel, with [`KernelShard`](super::KernelShard).
    Kernel,
}

impl Sharding {
    fn compare(&self, other: &Self) -> Result<(), Mismatch> {
        exact_part("routed by", &self.routed_by, &other.routed_by)?;
        exact_part("function", &self.function, &other.function)?;
        exact_part("bytes skipped", &self.skip, &other.skip)?;
        exact_part("shards", &self.shards.join(" "), &other.shards.join(" "))
    }
}

impl fmt::Display for RoutedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "the client",
            Self::Server => "the server",
            Self::Kernel => "the server's kernel",
        })
    }
}
