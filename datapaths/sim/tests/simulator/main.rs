//! Simulated networks and links, and pairs in memory.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod emulator;
mod executor;
mod faults;
mod pair;
mod sockets;
mod streams;
mod wire;
