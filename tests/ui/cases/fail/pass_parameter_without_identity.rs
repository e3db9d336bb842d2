//! A pattern that names a parameter without identity.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct Hold<T>(T);

struct Plain;

#[subst(if [*, Hold<Plain>, *] then [*, *])]
struct Rule;

fn main() {}
