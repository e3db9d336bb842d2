//! An application that accepts another guarantee than the pass drops.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
#[chunnel(guarantees(Encrypted))]
struct Tls;

#[subst(if [*, Tls, *] then [*, *], weakens(Encrypted))]
struct DropTls;

fn main() {
    let _ = optimize!(make_stack!(Tls), DropTls accepting (Ordered));
}
