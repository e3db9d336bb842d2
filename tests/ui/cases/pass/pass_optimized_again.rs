//! An optimised stack as an element of another, which is optimised again.

use bertha_core::{Describe, Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[derive(Identity)]
struct C;

#[subst(if [*, A, B, *] then [*, C, *] with |_, _| C)]
struct AbIsC;

fn main() {
    let lower = optimize!(make_stack!(B), AbIsC);
    let stack = optimize!(make_stack!(A, lower), AbIsC);
    assert_eq!(stack.into_inner().explain().to_string(), "C");
}
