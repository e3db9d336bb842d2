//! A Chunnel with a constant, which a variable matches.

use bertha_core::{Describe, Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct Pad<const BYTES: usize>;

#[derive(Identity)]
struct Fill(usize);

#[subst(for<const BYTES: usize> if [*, Pad<BYTES>, *] then [*, Fill, *] with |_| Fill(BYTES))]
struct PadIsFill;

fn main() {
    let stack = optimize!(make_stack!(Pad::<4>, Pad::<8>), PadIsFill).into_inner();
    assert_eq!(stack.explain().to_string(), "Fill / Fill");
    assert_eq!((stack.head().0, stack.tail().head().0), (4, 8));
}
