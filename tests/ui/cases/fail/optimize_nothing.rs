//! `optimize!` without a pass, or without a stack.

use bertha_core::{Identity, optimize};

#[derive(Identity)]
struct A;

fn main() {
    let _ = optimize!(A);
    let _ = optimize!(A,);
    let _ = optimize!();
}
