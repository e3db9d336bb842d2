//! A misspelt `then`.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] than [*, *])]
struct Rule;

fn main() {}
