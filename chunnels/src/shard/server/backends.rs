//! The shards of a routing server.

use super::routed::Routed;
use crate::shard::ShardMap;
use bertha_core::{BoxFuture, ConnectContext, Connection, Error};
use std::sync::Arc;

/// The shards to which a routing server forwards requests: [`RemoteShards`](super::RemoteShards) or
/// [`LocalShards`](super::LocalShards).
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't handle the messages of `{Inner}`",
    note = "`LocalShards<T>` needs a connection that carries `T`"
)]
pub trait Backends<Inner: Connection>: Send + Sync {
    /// Connects `client` with the shards.
    #[doc(hidden)]
    fn link(
        &self,
        client: &Arc<Inner>,
        map: &ShardMap,
        context: ConnectContext<'_, Inner>,
        routed: &Arc<Routed>,
    ) -> impl Future<Output = Result<Link<Inner>, Error>> + Send;
}

/// The route between one client and the shards.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "internal, and holds a future")]
pub struct Link<Inner> {
    /// The connections of this client alone, which are closed with the client's connection.
    pub(super) shards: Arc<[Inner]>,
    /// The future that forwards requests and replies until the client or a shard fails, and returns the
    /// error.
    pub(super) routing: BoxFuture<'static, Error>,
}
