//! A Chunnel that needs what is no guarantee, and a function of the wrong type.

use bertha_core::Identity;

#[derive(Identity)]
#[chunnel(needs(Fast))]
struct NoGuarantee;

#[derive(Identity)]
#[chunnel(needs = is_needed)]
struct NoSet;

fn is_needed(_: &NoSet) -> bool {
    true
}

fn main() {}
