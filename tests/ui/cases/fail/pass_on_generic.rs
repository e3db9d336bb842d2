//! A rule on a struct with parameters.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct Rule<T>;

fn main() {}
