//! A function that is generic over the whole stack.

use bertha_core::pass::{Given, Optimize};
use bertha_core::{Describe, Identity, make_stack, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

fn optimized<S>(stack: S) -> S::Output
where
    S: Optimize<(Given<NoA, ()>, ()), Output: Describe>,
{
    stack.optimize(&(Given::new(NoA), ()))
}

fn main() {
    assert_eq!(optimized(make_stack!(A, A)).nodes().len(), 0);
}
