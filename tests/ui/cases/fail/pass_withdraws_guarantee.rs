//! A pass that puts a Chunnel above the one whose guarantee it withdraws, and another that withdraws what the datapath may give.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
#[chunnel(guarantees(Encrypted))]
struct Tls;

#[derive(Identity)]
#[chunnel(withdraws(Encrypted))]
struct MaybeLocal;

#[derive(Identity)]
struct Nothing;

#[subst(if [*, Tls, MaybeLocal, *] then [*, MaybeLocal, Tls, *])]
struct EncryptLess;

#[subst(if [*, Nothing, *] then [*, MaybeLocal, *] with |_| MaybeLocal)]
struct Nearer;

fn main() {
    let _ = optimize!(make_stack!(Tls, MaybeLocal), EncryptLess);
    let _ = optimize!(make_stack!(Nothing), Nearer);
}
