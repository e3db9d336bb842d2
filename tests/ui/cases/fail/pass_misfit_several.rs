//! Several passes that together leave a stack whose data do not fit.

use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Error, Identity, make_stack, optimize, subst};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, Nothing, *] with |_| Nothing)]
struct AIsNothing;

#[subst(if [*, Nothing, *] then [*, Serialize<u64>, *] with |_| Serialize::new())]
struct Numbers;

#[subst(if [*, A, A, *] then [*, *])]
struct Unmatched;

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let stack = optimize!(make_stack!(Serialize::<String>::new(), A), Unmatched, AIsNothing, Numbers);
    stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    Ok(())
}

fn main() {}
