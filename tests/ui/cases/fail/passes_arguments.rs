//! `passes!` without a pass, and with something else behind a pass.

mod checking {
    use bertha_core::{Identity, subst};

    #[derive(Identity)]
    pub struct A;

    #[subst(if [*, A, *] then [*, *])]
    pub struct NoA;
}

bertha_core::passes!();
bertha_core::passes!(checking::NoA accept (Encrypted));

fn main() {}
