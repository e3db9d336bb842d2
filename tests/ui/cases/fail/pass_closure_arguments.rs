//! A closure that takes another number of Chunnels than match.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[derive(Identity)]
struct C;

#[subst(if [*, A, B, *] then [*, C, *] with |a| C)]
struct Rule;

#[subst(if [*, A, *] then [*, C, *] with || C)]
struct Other;

fn main() {}
