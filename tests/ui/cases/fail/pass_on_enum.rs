//! A rule on an enum.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
enum Rule {}

fn main() {}
