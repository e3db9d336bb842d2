//! The subcommands, one each.

pub(crate) mod connect;
#[cfg(feature = "dpdk")]
pub(crate) mod datapaths;
#[cfg(feature = "dpdk")]
pub(crate) mod dpdk_echo;
pub(crate) mod echo;
pub(crate) mod kv;
pub(crate) mod kv_overload;
pub(crate) mod overhead;
pub(crate) mod passes;
pub(crate) mod shard_raw;
pub(crate) mod switch;
pub(crate) mod throughput;
pub(crate) mod windows;
