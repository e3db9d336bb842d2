//! A Chunnel that promises what is no guarantee.

use bertha_core::Identity;

#[derive(Identity)]
#[chunnel(guarantees(Fast))]
struct A;

fn main() {}
