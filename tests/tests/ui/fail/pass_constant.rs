//! A constant in a pattern.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct Sized<const N: usize>;

#[subst(if [*, Sized<4>, *] then [*, *])]
struct Rule;

#[subst(if [*, Sized<{ 2 + 2 }>, *] then [*, *])]
struct Other;

fn main() {}
