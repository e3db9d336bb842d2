//! A variable that is a lifetime.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct Hold<T>(T);

#[subst(for<'a, T> if [*, Hold<T>, *] then [*, *])]
struct Rule;

fn main() {}
