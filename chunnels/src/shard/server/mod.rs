//! Routing by the server.

mod backends;
mod chunnel;
mod connection;
mod forward;
mod local;
mod queue;
mod remote;
mod routed;
#[cfg(test)]
mod tests;

pub use backends::Backends;
pub use chunnel::ServerShard;
pub use connection::ServerShardConnection;
pub use local::LocalShards;
pub use queue::{ReplyTo, ShardQueue};
pub use remote::RemoteShards;
#[cfg(feature = "serialize")]
pub(super) use remote::link;
#[cfg(feature = "serialize")]
pub(super) use routed::Routed;
pub use routed::ServerShardStatistics;
