//! Routing by the server's kernel.

mod chunnel;
mod client;
mod serve;
mod sibling;
#[cfg(test)]
mod tests;

pub use chunnel::KernelShard;
pub use client::KernelShardConnection;
pub use serve::{ServeShards, Unserved};
pub use sibling::SiblingConnection;
