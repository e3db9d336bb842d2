//! Connections with any number of endpoints that change their stacks in use, over the simulated network.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests panic to fail, and say with which seed"
)]

#[path = "../upgrade/parting.rs"]
mod parting;

mod asking;
mod crowd;
mod history;
mod retiring;
mod seeds;
