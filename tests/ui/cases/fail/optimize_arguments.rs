//! `optimize!` without a pass, without a stack, and with something else behind a pass.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
#[chunnel(guarantees(Encrypted))]
struct Tls;

#[subst(if [*, Tls, *] then [*, *], weakens(Encrypted))]
struct DropTls;

fn main() {
    let _ = optimize!(Tls);
    let _ = optimize!(Tls,);
    let _ = optimize!();
    let _ = optimize!(make_stack!(Tls), DropTls accepting Encrypted);
    let _ = optimize!(Tls, DropTls accept (Encrypted));
}
