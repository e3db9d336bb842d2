//! Two passes that undo each other.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[subst(if [*, A, *] then [*, B, *] with |_| B)]
struct AToB;

#[subst(if [*, B, *] then [*, A, *] with |_| A)]
struct BToA;

fn main() {
    let _ = optimize!(make_stack!(A), AToB, BToA);
}
