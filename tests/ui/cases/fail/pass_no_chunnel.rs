//! A pattern without a Chunnel.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*] then [*])]
struct Rule;

#[subst(if [] then [])]
struct Other;

fn main() {}
