//! Ends that misbehave: those that write what they like into the shared memory, die, say nothing, or attach descriptors. The table of
//! edges is in `edges.md`.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod attached;
mod hostile;
mod hostile_process;
mod kills;
mod offers;
mod silent;
mod traces;
