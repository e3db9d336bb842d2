//! `weakens` of what is no guarantee.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *], weakens(Encryption))]
struct Rule;

#[subst(if [*, A, *] then [*, *], weakens Encrypted)]
struct Other;

fn main() {}
