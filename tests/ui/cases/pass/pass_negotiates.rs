//! An optimised stack connects like the one written by hand, to the same type.

use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Connection, Error, make_stack, optimize, subst};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

#[subst(if [*, Nothing, *] then [*, *])]
struct NoNothing;

fn same<T>(_: &T, _: &T) {}

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let server = ([10, 0, 0, 2], 4242);
    let by_hand = make_stack!(Serialize::<String>::new());
    let by_pass = optimize!(make_stack!(Nothing, Serialize::<String>::new()), NoNothing);
    let first = by_hand.connect(datapath.clone(), server).await?;
    let second = by_pass.connect(datapath, server).await?;
    same(&first, &second);
    second.send("same".into()).await
}

fn main() {
    let _ = client;
}
