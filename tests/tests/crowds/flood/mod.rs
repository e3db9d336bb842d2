//! Floods: a server receives a million random and mutated datagrams. It keeps serving its clients, and its
//! memory does not grow.

mod decided;
mod dice;
mod kernel;
mod meter;
mod mutator;
mod scene;
mod simulated;

use bertha_allocations::Live;

#[global_allocator]
static ALLOCATOR: Live = Live;
