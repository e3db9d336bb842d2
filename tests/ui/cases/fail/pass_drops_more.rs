//! A pass that drops more than it says.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
#[chunnel(guarantees(Encrypted, Authenticated))]
struct Tls;

#[subst(if [*, Tls, *] then [*, *], weakens(Encrypted))]
struct DropTls;

fn main() {
    let _ = optimize!(make_stack!(Tls), DropTls accepting (Encrypted));
}
