//! A misspelt `with`.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[subst(if [*, A, *] then [*, B, *] wiht |_| B)]
struct Rule;

fn main() {}
