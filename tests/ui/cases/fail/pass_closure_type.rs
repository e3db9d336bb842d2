//! A closure that returns another Chunnel than the replacement.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[subst(if [*, A, *] then [*, B, *] with |a| a)]
struct Rule;

fn main() {}
