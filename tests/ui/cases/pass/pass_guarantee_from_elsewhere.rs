//! A pass that removes a promise which the rest of the stack still makes.

use bertha_core::{Describe, Identity, make_stack, optimize, select, subst};

#[derive(Identity)]
#[chunnel(guarantees(Encrypted))]
struct Tls;

#[derive(Identity)]
#[chunnel(guarantees(Encrypted))]
struct Tunnel;

#[subst(if [*, Tls, *] then [*, *])]
struct NoTls;

fn main() {
    assert_eq!(optimize!(make_stack!(Tls, Tunnel), NoTls).nodes().len(), 1);
    // The layers around an alternative count for it as well.
    assert_eq!(optimize!(make_stack!(select!(Tls, Tls), Tunnel), NoTls).nodes().len(), 2);
}
