//! Stacks of single Chunnels, over the simulator and over kernel sockets, and against programs of other projects.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests panic to fail, and show what they measured"
)]

mod byte_streams;
mod drops;
mod ends;
mod events;
mod layers_tell;
#[path = "../negotiation/lean.rs"]
mod lean;
mod lines;
mod openssl;
mod pace;
mod path_mtu;
mod reliable;
mod retry;
mod rpc;
mod secured;
mod shard_raw;
mod statistics;
#[cfg(feature = "opentelemetry")]
mod traces;
