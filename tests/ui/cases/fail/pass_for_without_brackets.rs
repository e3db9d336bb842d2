//! Variables without their brackets.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct Hold<T>(T);

#[subst(for T if [*, Hold<T>, *] then [*, *])]
struct Rule;

fn main() {}
