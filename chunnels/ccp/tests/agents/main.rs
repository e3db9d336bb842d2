//! Agents, good and bad, and what the datapath says of them.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

#[cfg(feature = "agent")]
mod agent;
#[path = "../compiled/mod.rs"]
mod compiled;
#[cfg(feature = "agent")]
mod control;
#[cfg(feature = "agent")]
mod example;
mod other_users;
#[cfg(all(feature = "agent", feature = "quinn"))]
mod quinn;
#[cfg(feature = "agent")]
mod telling;
