//! 31 Chunnels and four passes over a datapath, within the compiler's default recursion limit.

use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Connection, Error, Identity, make_stack, optimize, subst};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

#[subst(if [*, A, *] then [*, Nothing, *] with |_| Nothing)]
struct AIsNothing;

#[subst(if [*, B, A, *] then [*, A, *])]
struct NoBAboveA;

#[subst(if [*, B] then [*])]
struct NoBAtTheBottom;

#[subst(if [*, Nothing, Nothing, *] then [*, Nothing, *] with |first, _| first)]
struct OneIsEnough;

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let five = || make_stack!(Nothing, Nothing, Nothing, Nothing, Nothing);
    let below = make_stack!(five(), five(), five(), five(), five());
    let stack = make_stack!(Serialize::<String>::new(), B, A, below, Nothing, Nothing, B);
    let stack = optimize!(stack, NoBAboveA, NoBAtTheBottom, AIsNothing, OneIsEnough);
    let connection = stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    connection.send("through".into()).await
}

fn main() {
    let _ = client;
}
