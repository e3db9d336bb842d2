//! Connections with any number of endpoints that change their stacks in use, over the simulated network.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

#[path = "../upgrade/parting.rs"]
mod parting;

#[allow(dead_code, reason = "another test uses the rest")]
#[path = "../rendezvous/counting.rs"]
mod counting;

mod asking;
mod attack;
mod competing;
mod crowd;
mod cut_off;
mod group_key;
mod history;
mod left_out;
mod retiring;
mod seeds;
mod subscription;
mod unready;
mod waiting;
