//! The kernel hands each request to the socket of its shard.

mod ending;
mod passed_over;
mod relay;
mod routing;
mod scene;
mod strangers;
