//! `passes!` without a pass, and with something else behind a pass.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

bertha_core::passes!();
bertha_core::passes!(NoA accept (Encrypted));

fn main() {}
