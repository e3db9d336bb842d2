//! A replacement with another number of `*` between its ends.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[subst(if [*, A, *, B, *] then [*, A, B, *])]
struct Rule;

fn main() {}
