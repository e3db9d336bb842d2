//! A rule that matches what it makes.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[subst(if [*, A, *] then [*, B, A, *] with |a| (B, a))]
struct Grow;

fn main() {
    let _ = optimize!(make_stack!(A), Grow);
}
