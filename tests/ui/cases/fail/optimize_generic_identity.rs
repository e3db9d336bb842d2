//! A function that is generic over its Chunnel and asks for an identity, which is not enough for passes.

use bertha_core::{Describe, Identity, optimize, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

fn optimized<C: Describe + Identity>(chunnel: C) {
    let _ = optimize!(chunnel, NoA);
}

fn main() {
    optimized(A);
}
