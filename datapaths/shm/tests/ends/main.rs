//! Ends that misbehave: one that writes what it likes into the shared memory, and one that dies; and how often an end wakes. Other
//! attacks, and the table of edges, are in `strangers`.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod hostile;
mod hostile_process;
mod kills;
mod offers;
mod statistics;
mod traces;
mod wakes;
