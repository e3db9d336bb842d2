//! A constant in a pattern.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct Pad<const BYTES: usize>;

#[subst(if [*, Pad<4>, *] then [*, *])]
struct Rule;

#[subst(if [*, Pad<{ 2 + 2 }>, *] then [*, *])]
struct Other;

fn main() {}
