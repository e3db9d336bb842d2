//! A pass inside nested alternatives, never across their edge.

use bertha_core::{Describe, Identity, make_stack, optimize, select, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[derive(Identity)]
struct C;

#[subst(if [*, A, B, *] then [*, C, *] with |_, _| C)]
struct AbIsC;

fn main() {
    let stack = make_stack!(A, select!(B, make_stack!(A, select!(make_stack!(A, B), C)), make_stack!(A, B)));
    let stack = optimize!(stack, AbIsC).into_inner();
    assert_eq!(stack.explain().to_string(), "A / (B | A / (C | C) | C)");
}
