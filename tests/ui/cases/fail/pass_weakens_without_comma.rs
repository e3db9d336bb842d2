//! `weakens` without the comma before it.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *] weakens(Encrypted))]
struct Rule;

fn main() {}
