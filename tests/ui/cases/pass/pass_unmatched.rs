//! A pass that matches nowhere leaves the stack and its type.

use bertha_core::{Bottom, Identity, Stack, make_stack, optimize, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

fn main() {
    let stack: Stack<B, Bottom> = optimize!(make_stack!(B), NoA).into_inner();
    let _: &B = stack.head();
}
