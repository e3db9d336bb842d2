//! Applications of one machine: their calls, and what they may not do.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod calls;
#[path = "../hotel/mod.rs"]
mod hotel;
mod polling;
mod strangers;
mod stubs;
mod threads;
