//! The use of a pass whose rule is wrong is no further error.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A] than [*])]
struct NoA;

fn main() {
    let _ = optimize!(make_stack!(A), NoA);
}
