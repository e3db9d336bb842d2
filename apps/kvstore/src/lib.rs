//! A key-value store, split into shards that each belong to a single thread.
//!
//! [`Message`] travels in both directions, and [`Store`] holds the records of a shard and turns each request
//! into its reply. Neither knows how messages reach it. [`Server`] runs a router and its shards over the
//! datapath of this build. On tokio each of them has a thread and a runtime of its own; over Caladan they are
//! tasks of the only runtime that a process has.
//!
//! Each record belongs to the shard of its key, and a scan to all of them: the shard that receives a
//! [`Body::Scan`] asks the other shards of its process, and merges their parts.
//!
//! Clients that are not Bertha reach the same records by the protocol of Redis, in [`resp`].
//!
//! # Stacks
//!
//! A client connects to the router with `ClientShard`, `KernelShard` or `ServerShard`, or a `select!` of them,
//! over [`shard_map`]; a shard is a separate store to a client that connects to it without these Chunnels. Below
//! are [`Messages`], and `Checksum` or `Tls`: a damaged message is lost, and never becomes a wrong value.
//!
//! ```
//! use bertha::Error;
//! use bertha::chunnels::{Checksum, ClientShard, ServerShard};
//! use bertha::prelude::*;
//! use bertha_kvstore::{Message, Messages, Options, Server, Shards};
//!
//! let server = Server::start(Options { shards: Shards::Local(2), ..Options::default() })?;
//!
//! let (map, addr) = (server.map().clone(), server.addr());
//! bertha::run(async move {
//!     let stack = make_stack!(
//!         select!(ClientShard::new(map.clone()), ServerShard::new(map)),
//!         Messages::new(),
//!         Checksum::new(),
//!     );
//!     let store = stack.connect(bertha::datapath(), addr).await?;
//!     store.send(Message::get(1, "user1000")).await?;
//!     assert_eq!(store.recv().await?.key, "user1000");
//!     store.close().await
//! })??;
//! server.stop()?;
//! # Ok::<(), Error>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

// A router passes messages on undecoded wherever their format has the key at a fixed place.
bertha::passes!(bertha::chunnels::shard::RouteUndecoded);

mod contiguous;
mod key;
mod limits;
mod page;
mod protocol;
pub mod resp;
pub mod server;
mod sharding;
mod shared_store;
mod stop;
mod store;
pub mod zone;

pub use key::Key;
pub use limits::{MAX_KEY, MAX_SCAN, MAX_VALUE};
pub use page::{Page, Record};
pub use protocol::{Body, Message, Messages, Reason};
pub use server::{Options, Routing, Server, Shards};
pub use sharding::{KEY_PREFIX, Sharding, shard_addrs, shard_map};
pub use store::{Capacity, Lifetime, Store};
