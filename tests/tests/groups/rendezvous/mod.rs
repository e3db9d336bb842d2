//! Participants over stores: in memory and virtual time, and over real servers.

pub(crate) mod counting;
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
