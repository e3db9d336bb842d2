//! A pass that leaves a stack whose data do not fit, at `connect`.

use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Error, make_stack, optimize, subst};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

#[subst(if [*, Nothing, *] then [*, Serialize<u64>, *] with |_| Serialize::new())]
struct Numbers;

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let stack = optimize!(make_stack!(Serialize::<String>::new(), Nothing), Numbers);
    stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    Ok(())
}

fn main() {}
