//! Connections as `Stream`, `Sink` and services, alone and under layers of tower's.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

#[cfg(all(feature = "stream", feature = "tower", feature = "futures-io"))]
mod connections;
#[cfg(feature = "rpc")]
mod rpc;
