//! A variable for a parameter that the Chunnel's declaration bounds.

use bertha_core::{Identity, subst};

trait Codec {}

#[derive(Identity)]
struct Hold<T: Codec>(T);

#[subst(for<T: Codec> if [*, Hold<T>, *] then [*, *])]
struct Rule;

fn main() {}
