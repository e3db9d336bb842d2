//! A rule that does not begin with `if`.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst([*, A, *] then [*, *])]
struct Rule;

fn main() {}
