//! A pass for the whole crate that drops a guarantee, which the crate does not accept.

use bertha_core::{Identity, make_stack, subst};

#[derive(Identity)]
#[chunnel(guarantees(Encrypted))]
struct Tls;

#[subst(if [*, Tls, *] then [*, *], weakens(Encrypted))]
struct DropTls;

bertha_core::passes!(DropTls);

fn main() {
    let _ = make_stack!(Tls);
}
