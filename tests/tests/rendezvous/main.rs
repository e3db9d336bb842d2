//! Participants over stores: in memory and virtual time, and over real servers.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod counting;
mod faults;
#[cfg(any(feature = "redis", feature = "etcd"))]
mod forwarder;
mod hindered;
mod joining;
mod policies;
mod round_trips;
mod scene;
mod servers;
mod upgrades;
