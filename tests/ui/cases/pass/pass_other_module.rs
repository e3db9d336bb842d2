//! A rule in another module, over Chunnels of a third.

use bertha_core::{Describe, make_stack, optimize};

mod chunnels {
    use bertha_core::Identity;

    #[derive(Identity)]
    pub struct A;

    #[derive(Identity)]
    pub struct B;
}

mod rules {
    use super::chunnels;
    use bertha_core::subst;

    /// Written with paths.
    #[subst(if [*, chunnels::A, *] then [*, super::chunnels::B, *] with |_| chunnels::B)]
    pub struct AToB;
}

fn main() {
    let stack = optimize!(make_stack!(chunnels::A), rules::AToB);
    assert_eq!(stack.into_inner().explain().to_string(), "B");
}
