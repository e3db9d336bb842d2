//! Floods: a server that is sent a million random and mutated datagrams keeps serving its clients, and its memory
//! does not grow.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod decided;
mod dice;
mod kernel;
mod live_bytes;
mod mutator;
mod scene;
mod simulated;

#[global_allocator]
static ALLOCATOR: live_bytes::Tally = live_bytes::Tally;
