//! Connections with any number of endpoints that change their stacks in use, over the simulated network.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod asking;
mod crowd;
mod history;
mod seeds;
