//! `passes!` in a module, where the stacks of other modules would not find it.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

mod stacks {
    bertha_core::passes!(super::NoA);
}

fn main() {}
