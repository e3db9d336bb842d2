//! A variable that stands twice in the pattern, and a stack where it would be two types.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct Encode<T>(T);

#[derive(Identity)]
struct Check<T>(T);

#[subst(for<T> if [*, Encode<T>, Check<T>, *] then [*, Encode<T>, *])]
struct NoCheck;

fn main() {
    let _ = optimize!(make_stack!(Encode(1u8), Check(1u8)), NoCheck);
    let _ = optimize!(make_stack!(Encode(1u8), Check(1u16)), NoCheck);
}
