//! `optimize!` without a pass, or without a stack.

use bertha_core::{Identity, make_stack, optimize};

#[derive(Identity)]
struct A;

fn main() {
    let _ = optimize!(make_stack!(A));
    let _ = optimize!(make_stack!(A),);
    let _ = optimize!();
}
