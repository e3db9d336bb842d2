//! A replacement made by `From`, from what is not kept.

use bertha_core::{Describe, Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct A(u8);

#[derive(Identity)]
struct B(u8);

#[derive(Identity)]
struct C(u8);

#[subst(if [*, A, B, *] then [*, C, B, *])]
struct AIsC;

impl From<(A,)> for C {
    fn from((a,): (A,)) -> Self {
        Self(a.0)
    }
}

fn main() {
    let stack = optimize!(make_stack!(A(1), B(2)), AIsC).into_inner();
    assert_eq!(stack.explain().to_string(), "C / B");
    assert_eq!((stack.head().0, stack.tail().head().0), (1, 2));
}
