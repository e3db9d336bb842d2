//! A Chunnel that was described by hand and has no identity.

use bertha_core::{Describe, Identity, Node, make_stack, optimize, subst};

#[derive(Identity)]
struct A;

struct Plain;

impl Describe for Plain {
    fn describe(&self, _: &mut Vec<Node>) {}
}

#[subst(if [*, A, *] then [*, *])]
struct NoA;

fn main() {
    let _ = optimize!(make_stack!(Plain, A), NoA);
}
