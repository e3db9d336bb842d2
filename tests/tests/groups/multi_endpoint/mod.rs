//! Connections with any number of endpoints that change their stacks in use, over the simulated network.

#[path = "../../upgrade/parting.rs"]
mod parting;

mod asking;
mod attack;
mod competing;
mod crowd;
mod cut_off;
mod group_key;
mod history;
mod left_out;
mod notes;
mod retiring;
mod seeds;
mod subscription;
mod unready;
mod waiting;

use crate::rendezvous::counting;
