//! 31 Chunnels and four passes, within the compiler's default recursion limit.

use bertha_core::{Describe, Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct A(u32);

#[derive(Identity)]
struct B(u32);

#[derive(Identity)]
struct C(u32);

#[subst(if [*, A, A, *] then [*, B, *] with |a, b| B(a.0 + b.0))]
struct Pairs;

#[subst(if [*, B, B, *] then [*, C, *] with |a, b| C(a.0 + b.0))]
struct Fours;

#[subst(if [*, C, C, C, *] then [*, A, *] with |a, b, c| A(a.0 + b.0 + c.0))]
struct Twelves;

#[subst(if [*, C, B, A] then [*, B] with |a, b, c| B(a.0 + b.0 + c.0))]
struct Rest;

fn main() {
    let eight = || make_stack!(A(1), A(1), A(1), A(1), A(1), A(1), A(1), A(1));
    let seven = make_stack!(A(1), A(1), A(1), A(1), A(1), A(1), A(1));
    let stack = make_stack!(eight(), eight(), eight(), seven);
    assert_eq!(stack.nodes().len(), 31);
    // 31 is 12 + 12 + 4 + 2 + 1; two twelves make a pair again.
    let stack = optimize!(stack, Pairs, Fours, Twelves, Rest).into_inner();
    assert_eq!(stack.explain().to_string(), "B / B");
    assert_eq!((stack.head().0, stack.tail().head().0), (24, 7));
}
