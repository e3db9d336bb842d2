//! A condition on a variable.

use bertha_core::identity::{Bool, False, True};
use bertha_core::{Describe, Identity, make_stack, optimize, subst};
use std::marker::PhantomData;

trait Speed {
    type Fast: Bool;
}

struct Slow;

impl Speed for Slow {
    type Fast = False;
}

struct Quick;

impl Speed for Quick {
    type Fast = True;
}

#[derive(Identity)]
struct Encode<C>(PhantomData<C>);

#[subst(for<C: Speed> if [*, Encode<C>, *] when C::Fast then [*, *])]
struct NoFastOnes;

fn main() {
    let stack = make_stack!(Encode::<Slow>(PhantomData), Encode::<Quick>(PhantomData));
    assert_eq!(optimize!(stack, NoFastOnes).nodes().len(), 1);
}
