//! Where a routing server's shards are.

use crate::shard::ShardMap;
use bertha_core::{BoxFuture, ConnectContext, Connection, Error};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Where the shards are that a routing server passes requests to: [`RemoteShards`](super::RemoteShards) or
/// [`LocalShards`](super::LocalShards).
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't handle the messages of `{Inner}`",
    note = "`LocalShards<T>` needs a connection that carries `T`"
)]
pub trait Backends<Inner: Connection>: Send + Sync {
    /// Prepares to pass on what `client` sends.
    #[doc(hidden)]
    fn link(
        &self,
        client: &Arc<Inner>,
        map: &ShardMap,
        context: ConnectContext<'_, Inner>,
        dropped: &Arc<AtomicU64>,
    ) -> impl Future<Output = Result<Link<Inner>, Error>> + Send;
}

/// The way between one client and the shards.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "internal, and holds a future")]
pub struct Link<Inner> {
    /// Connections that belong to this client alone, to be closed with its own.
    pub(super) shards: Arc<[Inner]>,
    /// Passes requests and replies on until the client or a shard is gone, and says why.
    pub(super) routing: BoxFuture<'static, Error>,
}
