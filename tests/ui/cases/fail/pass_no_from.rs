//! A new Chunnel that can't be made of what matched.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[derive(Identity)]
struct C;

#[subst(if [*, A, B, *] then [*, C, *])]
struct Rule;

fn main() {}
