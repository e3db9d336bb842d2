//! Something in a list that is no type.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, 7, *] then [*, *])]
struct Rule;

fn main() {}
