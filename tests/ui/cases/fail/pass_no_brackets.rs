//! Lists without their brackets.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if *, A, * then [*, *])]
struct Rule;

#[subst(if [*, A, *] then *)]
struct Other;

fn main() {}
