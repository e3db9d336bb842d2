//! A rule and its use in a crate that depends on `bertha` alone.

use bertha::{Describe, Identity, make_stack, optimize};

#[derive(Identity)]
struct A;

#[bertha::subst(if [*, A, *] then [*, *], weakens(Reliable))]
struct NoA;

fn main() {
    let stack = bertha::optimize!(make_stack!(A), NoA accepting (Reliable));
    assert_eq!(stack.nodes().len(), 0);
    assert_eq!(optimize!(stack, NoA accepting (Reliable)).nodes().len(), 0);
}
