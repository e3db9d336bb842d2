//! A replacement that promises less than what it replaces.

use bertha_core::{Identity, make_stack, optimize, subst};

#[derive(Identity)]
#[chunnel(guarantees(Reliable, Ordered))]
struct Stream;

#[derive(Identity)]
#[chunnel(guarantees(Reliable))]
struct Resend;

#[subst(if [*, Stream, *] then [*, Resend, *] with |_| Resend)]
struct NoOrder;

fn main() {
    let _ = optimize!(make_stack!(Stream), NoOrder);
}
