//! A pass that drops what one alternative promised.

use bertha_core::{Identity, make_stack, optimize, select, subst};

#[derive(Identity)]
#[chunnel(guarantees(Encrypted))]
struct Tls;

#[derive(Identity)]
struct A;

#[subst(if [*, Tls, *] then [*, *])]
struct DropTls;

fn main() {
    let _ = optimize!(make_stack!(select!(Tls, A)), DropTls);
}
