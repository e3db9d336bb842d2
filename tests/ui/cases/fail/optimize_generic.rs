//! A function that is generic over its Chunnel, and does not say that the pass applies.

use bertha_core::{Describe, Identity, optimize, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

fn optimized<C: Describe>(chunnel: C) {
    let _ = optimize!(chunnel, NoA);
}

fn main() {
    optimized(A);
}
