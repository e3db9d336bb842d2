//! Routing by the client.

mod chunnel;
mod connection;
mod race;
#[cfg(test)]
mod tests;

pub use chunnel::ClientShard;
pub use connection::ClientShardConnection;
