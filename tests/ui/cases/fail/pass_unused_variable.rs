//! A variable that stands nowhere.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(for<T> if [*, A, *] then [*, *])]
struct Rule;

fn main() {}
