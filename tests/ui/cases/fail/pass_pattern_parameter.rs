//! A parameter where a Chunnel should be.

use bertha_core::{Identity, subst};

#[derive(Identity)]
#[chunnel(parameter)]
struct Compact;

#[subst(if [*, Compact, *] then [*, *])]
struct Rule;

#[subst(if [*, String, *] then [*, *])]
struct Other;

fn main() {}
