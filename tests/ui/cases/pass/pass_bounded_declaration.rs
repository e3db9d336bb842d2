//! A variable for a parameter whose bounds the wildcard fulfils as well.

use bertha_core::{Describe, Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct Hold<T: Copy + Ord>(T);

#[subst(for<T: Copy + Ord> if [*, Hold<T>, *] then [*, *])]
struct NoHold;

fn main() {
    assert_eq!(optimize!(make_stack!(Hold(1)), NoHold).nodes().len(), 0);
}
