//! Messages go to the shard that their key belongs to.
//!
//! A service whose data are split over several servers, or several threads, has each request handled where the key's
//! data are. Who looks at the key is a matter of deployment, so there are two Chunnels, and a `select!` of both lets
//! the two ends decide when they connect:
//!
//! * [`ClientShard`]: the client opens a connection to every shard and sends each request straight to its own.
//!   The server is spared the work, and requests take one hop less.
//! * [`ServerShard`]: the client has one connection, and the server passes requests on: to other servers, or to
//!   threads of its own process ([`LocalShards`]).
//!
//! Both route with the same function over the same [`ShardMap`], and the map is part of what the two ends compare when
//! they connect ([`Sharding`]). So no client routes by another map than the server's.
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
//! Messages of one shard keep the order in which they were sent, as far as the datapath does; messages of different
//! shards may overtake each other. What gets lost, doubled or reordered below stays so.

mod client;
mod failure;
mod hash;
mod keyed;
mod map;
mod parts;
#[cfg(feature = "serialize")]
mod raw;
mod server;
#[cfg(test)]
mod service;
mod sharding;
#[cfg(test)]
mod tests;

pub use client::{ClientShard, ClientShardConnection};
pub use hash::shard_of;
pub use keyed::Keyed;
pub use map::{MAX_SHARDS, ShardMap};
#[cfg(feature = "serialize")]
pub use raw::{KeyAt, Misplaced, RouteUndecoded, ShardRaw};
pub use server::{
    Backends, LocalShards, RemoteShards, ReplyTo, ServerShard, ServerShardConnection, ShardQueue,
};
pub use sharding::{RoutedBy, Sharding};

/// The most messages that are handed on at once. Those that leave together share what a system call costs; split between
/// two shards, so many still fill a segmented datagram of the kernel's for each.
const BURST: usize = 256;
