//! A replacement that asks of a variable what its bounds don't say.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct Hold<T>(T);

#[derive(Identity)]
struct Kept<T: Copy>(T);

#[subst(for<T> if [*, Hold<T>, *] then [*, Kept<T>, *] with |Hold(value)| Kept(value))]
struct Rule;

fn main() {}
