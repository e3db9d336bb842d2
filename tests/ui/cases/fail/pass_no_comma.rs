//! A list without a comma.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [* A *] then [*, *])]
struct Rule;

fn main() {}
