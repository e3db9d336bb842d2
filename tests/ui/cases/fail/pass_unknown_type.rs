//! A misspelt Chunnel.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, Aa, *] then [*, *])]
struct Rule;

fn main() {}
