//! A pattern with a type that is no Chunnel and has no identity.

use bertha_core::subst;

struct Plain;

#[subst(if [*, Plain, *] then [*, *])]
struct Rule;

fn main() {}
