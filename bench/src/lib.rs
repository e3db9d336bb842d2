//! The measuring tools of Bertha, and the hand-written programs that it is measured against.
//!
//! | module | what it measures |
//! |---|---|
//! | [`alternate`] | two programs in turn, so that drift of the machine hits both alike |
//! | [`statistics`] | medians, percentiles, and ratios with a confidence interval |
//! | [`instructions`] | instructions per operation in user space, through callgrind |
//! | [`stepping`] | the same, one by one, of what callgrind can't run |
//! | [`overhead`] | calls through stacks of Chunnels that do nothing |
//! | [`passes`] | calls through stacks that optimisation passes rewrote |
//! | [`compile_time`] | builds of generic code with a deep stack |
//! | [`connect`] | setting up a connection, over Bertha in all its ways and over a bare socket |
//! | [`latency`] | round trips, in an HDR histogram |
//! | [`echo_bertha`] | a UDP echo over Bertha, to be held against those in [`baseline`] |
//! | [`datapaths`] | the key-value store over one datapath and the next |
//! | `dpdk_echo` | an echo over DPDK ports, with the network stack and without (feature `dpdk`) |
//! | [`closed_loop`] | a client that always has as much on the way |
//! | [`kv_bertha`] | the key-value store over Bertha, to be held against [`baseline::kv_raw`] |
//! | [`kv_overload`] | the same store under more load than it can take |
//! | [`shard_raw`] | a server that routes to remote shards, with and without decoding |
//! | [`workload`], [`codec`] | what a key-value store is asked, and in what form |
//! | [`switch`] | changing the stack of a connection under full load |
//! | [`throughput`] | files over kernel UDP, against QUIC, TCP and raw datagrams |
//! | [`windows`] | congestion windows over time, on simulated links |
//! | [`report`] | the table on the terminal and the rows in `target/bench/NAME.json` |
//!
//! Times on a shared machine differ by several percent between two runs of the same program. A ratio near one is
//! therefore decided by instructions per operation, and the ratio of times stands beside it with its interval.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod alternate;
pub mod baseline;
pub mod closed_loop;
pub mod codec;
pub mod compile_time;
pub mod connect;
pub mod cores;
pub mod datapaths;
#[cfg(feature = "dpdk")]
pub mod dpdk_echo;
pub mod echo_bertha;
mod encoded;
mod error;
mod flood;
pub mod instructions;
pub mod kv_bertha;
pub mod kv_overload;
pub mod latency;
pub mod overhead;
pub mod passes;
pub mod probe;
mod program;
pub mod report;
pub mod shard_raw;
pub mod statistics;
pub mod stepping;
pub mod switch;
pub mod throughput;
pub mod windows;
pub mod workload;

pub use error::{Error, ErrorKind};
