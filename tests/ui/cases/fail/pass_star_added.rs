//! A replacement that begins with a `*` that the pattern does not have.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [A, *] then [*, A, *])]
struct Rule;

fn main() {}
