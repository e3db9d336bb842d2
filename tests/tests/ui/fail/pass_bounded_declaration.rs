//! A variable for a parameter that the Chunnel's declaration bounds.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct Hold<T: Copy>(T);

#[subst(for<T: Copy> if [*, Hold<T>, *] then [*, *])]
struct Rule;

fn main() {}
