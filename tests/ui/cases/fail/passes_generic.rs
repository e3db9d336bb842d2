//! A part of which nothing is known, in a crate that names passes.

use bertha_core::{Describe, Identity, make_stack, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

bertha_core::passes!(NoA);

fn put_on<S: Describe + Identity>(upper: S) {
    let _ = make_stack!(upper, A);
}

fn main() {
    put_on(A);
}
