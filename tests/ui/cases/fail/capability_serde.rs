//! A capability that can't travel, since it lacks serde's derives.

use bertha_core::Capability;

#[derive(Debug, PartialEq, Capability)]
#[capability(exact)]
struct Blocks {
    size: u32,
}

fn main() {}
