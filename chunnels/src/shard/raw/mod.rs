//! Routing by the server without decoding.

mod chunnel;
mod codec;
mod pass;
#[cfg(test)]
mod tests;

pub use chunnel::ShardRaw;
pub use codec::{KeyAt, Misplaced};
pub use pass::RouteUndecoded;
