//! A pass that drops a guarantee, which the application accepts.

use bertha_core::{Describe, Identity, make_stack, optimize, subst};

#[derive(Identity)]
#[chunnel(guarantees(Encrypted, Authenticated))]
struct Tls;

#[subst(if [*, Tls, *] then [*, *], weakens(Encrypted, Authenticated))]
struct DropTls;

fn main() {
    let stack = optimize!(make_stack!(Tls), DropTls accepting (Encrypted, Authenticated));
    assert_eq!(stack.nodes().len(), 0);
}
