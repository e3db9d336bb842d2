//! A rule that does not say what the Chunnels become.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *])]
struct Rule;

fn main() {}
