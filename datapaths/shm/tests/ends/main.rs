//! Peers that misbehave: an attacker that writes arbitrary words into the shared memory, and a process that
//! dies.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod hostile;
mod hostile_process;
mod kills;
mod offers;
mod traces;
