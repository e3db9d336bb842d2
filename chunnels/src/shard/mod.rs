//! Sharding: each message goes to the shard of its key.
//!
//! The data of a service are split over several servers or threads, and each request is handled by the shard
//! that has the key's data. Either end may route, or the server's kernel, so there are three Chunnels, and with
//! a `select!` of them the two ends decide when they connect:
//!
//! * [`ClientShard`]: the client opens a connection to every shard and sends each request straight to its
//!   shard. The server has less work, and requests take one hop less.
//! * [`ServerShard`]: the client has one connection, and the server forwards requests to other servers, or to
//!   threads of its own process ([`LocalShards`]).
//! * [`KernelShard`]: the client has one connection, and the server's kernel picks the thread of each request
//!   before any process sees it.
//!
//! The Chunnels route with the same function over the same [`ShardMap`], and the two ends compare the map
//! when they connect ([`Sharding`]). So no client routes by a map that differs from the server's map.
//!
//! ```
//! use bertha_chunnels::{ClientShard, Keyed, ServerShard, ShardMap, serialize::Serialize};
//! use bertha_core::{make_stack, select};
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! struct Request { key: String, id: u64 }
//!
//! impl Keyed for Request {
//!     fn key(&self) -> &[u8] { self.key.as_bytes() }
//! }
//!
//! let map = ShardMap::new(["10.0.0.1:4242".parse()?, "10.0.0.2:4242".parse()?])?;
//! let stack = make_stack!(
//!     select!(ClientShard::new(map.clone()), ServerShard::new(map)),
//!     Serialize::<Request>::new(),
//! );
//! # Ok::<(), bertha_core::Error>(())
//! ```
//!
//! # Delivery
//!
//! Messages of one shard keep the order of the connection below; messages of different shards may overtake each other. Loss and
//! duplication are those of the connections below.

mod client;
mod failure;
mod hash;
mod kernel;
mod keyed;
mod map;
mod parts;
#[cfg(feature = "serialize")]
mod raw;
mod server;
#[cfg(test)]
mod service;
mod sharding;
mod sorter;
#[cfg(test)]
mod tests;

pub use client::{ClientShard, ClientShardConnection};
pub use hash::shard_of;
pub use kernel::{KernelShard, KernelShardConnection, ServeShards, SiblingConnection, Unserved};
pub use keyed::Keyed;
pub use map::{MAX_SHARDS, ShardMap};
#[cfg(feature = "serialize")]
pub use raw::{KeyAt, Misplaced, RouteUndecoded, ShardRaw};
pub use server::{
    Backends, LocalShards, RemoteShards, ReplyTo, ServerShard, ServerShardConnection, ServerShardStatistics,
    ShardQueue,
};
pub use sharding::{RoutedBy, Sharding};

/// Maximum number of messages that are forwarded at once. They share the cost of a system call; split between
/// two shards, they still fill a segmented datagram of the kernel for each.
const BURST: usize = 256;
