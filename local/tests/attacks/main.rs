//! Attacks of other processes on a directory, its services and its clients. The table of edges is in `../edges.md`.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod attached;
mod deaf;
#[path = "../lines/mod.rs"]
mod lines;
mod packets;
mod refusals;
mod silence;
mod squatter;
mod visits;
