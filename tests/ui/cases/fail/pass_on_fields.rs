//! A rule on a struct with fields.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct Rule(u8);

fn main() {}
