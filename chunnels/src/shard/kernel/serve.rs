//! The shards of a server whose kernel routes.

use bertha_core::{Connection, Identity};

/// The shards of a server, which get the requests of each client from the kernel.
pub trait ServeShards<T>: Send + Sync {
    /// Serves a client at the shard with this number, until the connection has ended. The method returns at
    /// once: it hands `sibling` to the shard's thread, which receives the client's requests of this shard from
    /// it and sends the replies to it.
    ///
    /// The runtime that polls the first sibling of a shard receives for all siblings of the shard. So each
    /// shard has one runtime, which outlives its siblings.
    fn serve<C: Connection<Data = T>>(&self, shard: usize, sibling: C);
}

/// No shards: the end is a client, or a server that takes all requests itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(parameter)]
pub struct Unserved;

impl<T> ServeShards<T> for Unserved {
    fn serve<C: Connection<Data = T>>(&self, _: usize, _: C) {}
}
