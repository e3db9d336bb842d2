//! A replacement without the pattern's `*` at the end.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, A])]
struct Rule;

fn main() {}
