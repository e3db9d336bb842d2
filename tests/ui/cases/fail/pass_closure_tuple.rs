//! A closure that returns one Chunnel where the replacement has two.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[derive(Identity)]
struct C;

#[subst(if [*, A, *] then [*, B, C, *] with |_| B)]
struct Rule;

fn main() {}
