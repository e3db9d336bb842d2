//! A struct that is no pass, named for a crate.

use bertha_core::{Identity, make_stack};

#[derive(Identity)]
struct A;

struct Plain;

bertha_core::passes!(Plain);

fn main() {
    let _ = make_stack!(A);
}
