//! A rule of which nothing is written.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst]
struct Rule;

#[subst()]
struct Other;

fn main() {}
