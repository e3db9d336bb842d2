//! `where` before `weakens`.

use bertha_core::{Identity, subst};

#[derive(Identity)]
struct Hold<T>(T);

#[subst(for<T> if [*, Hold<T>, *] then [*, *] where T: Send, weakens(Encrypted))]
struct Rule;

fn main() {}
