//! A match for which the bounds of the rule's variables don't hold.

use bertha_core::identity::Bool;
use bertha_core::{Identity, make_stack, optimize, subst};

trait Speed {
    type Fast: Bool;
}

#[derive(Identity)]
struct Encode<C>(C);

struct Unknown;

#[subst(for<C: Speed> if [*, Encode<C>, *] when C::Fast then [*, *])]
struct NoFastOnes;

fn main() {
    let _ = optimize!(make_stack!(Encode(Unknown)), NoFastOnes);
}
