//! Names that the generated code might use as well.

use bertha_core::{Describe, Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct Rest(u32);

#[derive(Identity)]
struct Captured(u32);

fn rest(number: u32) -> u32 {
    number + 1
}

#[subst(if [*, Rest, *, Captured, *] then [*, Captured, *, Rest, *] with |a, b| (Captured(rest(a.0)), Rest(b.0)))]
struct Gap0;

fn main() {
    let stack = optimize!(make_stack!(Rest(1), Captured(2)), Gap0).into_inner();
    assert_eq!(stack.explain().to_string(), "Captured / Rest");
    assert_eq!((stack.head().0, stack.tail().head().0), (2, 2));
}
