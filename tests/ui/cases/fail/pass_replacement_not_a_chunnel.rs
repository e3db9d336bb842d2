//! A replacement that is no Chunnel.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

struct Plain;

#[subst(if [*, A, *] then [*, Plain, *] with |_| Plain)]
struct Rule;

fn main() {}
