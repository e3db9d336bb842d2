//! A datapath without a machine below it: a seeded network in virtual time, for tests.
//!
//! [`Sim`] runs a test's tasks on the calling thread. Its [`Network`] delays, loses, duplicates, reorders,
//! corrupts and cuts as the test sets it; [`Network::host`] returns a [`SimDatapath`] for each address. An
//! hour of time-outs passes in no time, and a test that fails with a seed fails with this seed every time.
//!
//! An [`Emulator`] is a link with a buffer whose rate may change over time; [`Network::emulate`] puts it between hosts.
//!
//! [`Network::bundle`] puts the boxes of [`bertha_bundle`] around such a link, which move its queue to the
//! senders' side.
//!
//! [`pair`] returns two connected ends in memory, without a network, for any runtime.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod emulator;
mod executor;
mod network;
mod pair;
mod queue;
mod rng;
mod sim;
mod trace;

pub use emulator::{Cause, Emulator, Fate, Path, Rate};
pub use executor::{Halt, HaltReason, Schedule, SimRuntime, SimTask};
pub use network::{
    Bottleneck, BundleState, Counters, Datagram, Limits, Link, Network, SimBase, SimConnection, SimDatapath,
    SimGroup, SimListener, Verdict,
};
pub use pair::{PairBase, PairConnection, pair, pair_of};
pub use sim::Sim;
