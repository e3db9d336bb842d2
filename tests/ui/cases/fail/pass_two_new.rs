//! Two new Chunnels, and no closure that makes them.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[derive(Identity)]
struct C;

#[subst(if [*, A, *] then [*, B, C, *])]
struct Rule;

fn main() {}
