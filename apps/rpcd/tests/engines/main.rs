//! Work of operators on calls: engines, orders, the choice of servers, and what is told of calls.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod allocations;
#[path = "../authority/mod.rs"]
mod authority;
mod balance;
#[path = "../../../../managed/tests/built/mod.rs"]
mod built;
#[path = "../from_address/mod.rs"]
mod from_address;
#[path = "../hotel/mod.rs"]
mod hotel;
mod marshalling;
mod metrics;
mod not_taken;
mod numbered;
mod operators;
mod plugins;
mod policies;
mod qos;
#[path = "../stranger/mod.rs"]
mod stranger;
mod traces;
mod trials;

#[global_allocator]
static COUNTING: bertha_allocations::Counting = bertha_allocations::Counting;
