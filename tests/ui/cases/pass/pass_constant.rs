//! A constant that follows from a variable of the pattern.

use bertha_core::{Describe, Identity, make_stack, optimize, subst};
use std::marker::PhantomData;

trait Layout {
    type Key;
}

struct KeyAt<const OFFSET: usize>;

#[derive(Identity)]
#[chunnel(parameter)]
struct Fixed;

impl Layout for Fixed {
    type Key = KeyAt<4>;
}

#[derive(Identity)]
struct Decode<C>(PhantomData<C>);

#[derive(Identity)]
struct Peek<const OFFSET: usize>;

#[subst(
    for<C, const OFFSET: usize> if [*, Decode<C>, *] then [*, Peek<OFFSET>, *] with |_| Peek
    where C: Layout<Key = KeyAt<OFFSET>>
)]
struct PeekInstead;

fn main() {
    let stack = optimize!(make_stack!(Decode::<Fixed>(PhantomData)), PeekInstead).into_inner();
    let Peek::<4> = stack.head();
    assert_eq!(stack.explain().to_string(), "Peek");
}
