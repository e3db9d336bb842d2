//! A `*` between, and ends of the stack.

use bertha_core::{Describe, Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[derive(Identity)]
struct C;

#[subst(if [A, *, B] then [*, C] with |_, _| C)]
struct Ends;

fn main() {
    assert_eq!(optimize!(make_stack!(A, C, B), Ends).into_inner().explain().to_string(), "C / C");
    assert_eq!(optimize!(make_stack!(A, C, B, A), Ends).into_inner().nodes().len(), 4);
}
