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

#[subst(if [*, C, C, *] then [*, A, *] with |a, b| A(a.0 + b.0))]
struct Eights;

#[subst(if [*, C, B, A] then [*, B] with |c, b, a| B(c.0 + b.0 + a.0))]
struct Last;

fn main() {
    let eight = || make_stack!(A(1), A(1), A(1), A(1), A(1), A(1), A(1), A(1));
    let seven = make_stack!(A(1), A(1), A(1), A(1), A(1), A(1), A(1));
    let stack = make_stack!(eight(), eight(), eight(), seven);
    assert_eq!(stack.nodes().len(), 31);
    // 31 is 3 * 8 + 4 + 2 + 1; in further rounds, pairs and fours are made of what the passes have made.
    let stack = optimize!(stack, Pairs, Fours, Eights, Last).into_inner();
    assert_eq!(stack.explain().to_string(), "B / A / B");
}
