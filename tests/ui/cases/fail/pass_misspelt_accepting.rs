//! A misspelt `accepting`.

use bertha_core::{Identity, optimize, subst};

#[derive(Identity)]
#[chunnel(guarantees(Encrypted))]
struct Tls;

#[subst(if [*, Tls, *] then [*, *], weakens(Encrypted))]
struct DropTls;

fn main() {
    let _ = optimize!(Tls, DropTls accept (Encrypted));
}
