//! No closure behind `with`.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[subst(if [*, A, *] then [*, B, *] with B)]
struct Rule;

fn main() {}
