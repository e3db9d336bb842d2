//! The programs that draw the figures of published evaluations, each with the shape of the figure it repeats.

#[cfg(feature = "bindings")]
pub(crate) mod bindings;
pub(crate) mod congestion;
pub(crate) mod flood;
#[cfg(feature = "local")]
pub(crate) mod local;
#[cfg(feature = "managed")]
pub(crate) mod managed;
mod namespace;
pub(crate) mod passes;
#[cfg(feature = "queues")]
pub(crate) mod pubsub;
pub(crate) mod shard_raw;
pub(crate) mod switch;
pub(crate) mod windows;
