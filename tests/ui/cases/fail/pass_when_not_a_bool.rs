//! A condition that is neither `True` nor `False`.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] when A then [*, *])]
struct Rule;

fn main() {}
