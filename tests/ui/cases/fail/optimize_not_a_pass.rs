//! `optimize!` with what is no pass.

use bertha_core::{Identity, make_stack, optimize};

#[derive(Identity)]
struct A;

struct Plain;

fn main() {
    let _ = optimize!(make_stack!(A), Plain);
}
