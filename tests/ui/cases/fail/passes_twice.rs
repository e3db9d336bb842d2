//! `passes!` twice: the passes of both would have no order.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

bertha_core::passes!(NoA);
bertha_core::passes!(NoA);

fn main() {}
