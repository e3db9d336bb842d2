//! The pass before the stack.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

fn main() {
    let _ = optimize!(NoA, make_stack!(A));
}
