//! `optimize!` of what is no stack.

use bertha_core::{Identity, optimize, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

fn main() {
    let _ = optimize!(42, NoA);
}
