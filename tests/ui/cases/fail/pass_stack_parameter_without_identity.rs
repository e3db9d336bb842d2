//! A stack with a parameter that the pattern would have to compare, and that has no identity.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct Hold<T>(T);

struct Plain;

#[subst(if [*, Hold<String>, *] then [*, *])]
struct NoText;

fn main() {
    let _ = optimize!(make_stack!(Hold(Plain)), NoText);
}
