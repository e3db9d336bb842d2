//! A datapath without a machine below it: a seeded network in virtual time, for tests.
//!
//! [`Sim`] runs a test's tasks on the calling thread. Its [`Network`] delays, loses, duplicates, reorders, corrupts
//! and cuts as it is told; [`Network::host`] gives a [`SimDatapath`] for each address. An hour of time-outs passes in
//! no time, and what fails with one seed fails with it every time.
//!
//! [`pair`] gives two connected ends in memory, without a network, for any runtime.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod base;
mod connection;
mod datapath;
mod executor;
mod listener;
mod network;
mod pair;
mod queue;
mod rng;
mod stream;
mod trace;

pub use base::SimBase;
pub use connection::SimConnection;
pub use datapath::SimDatapath;
pub use executor::{Halt, HaltReason, Schedule, Sim, SimRuntime, SimTask};
pub use listener::SimListener;
pub use network::{Bottleneck, Counters, Datagram, Limits, Link, Network, SimGroup, Verdict};
pub use pair::{PairBase, PairConnection, pair, pair_of};
