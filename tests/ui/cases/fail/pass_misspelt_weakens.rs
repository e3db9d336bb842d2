//! A misspelt `weakens`.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *], weaken(Encrypted))]
struct Rule;

fn main() {}
