//! A pass that leaves a `select!` whose alternatives carry different data.

use bertha_chunnels::Serialize;
use bertha_chunnels::serialize::{Bincode, Postcard};
use bertha_core::{Error, make_stack, optimize, select, subst};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

#[subst(if [*, Serialize<String, Postcard>, *] then [*, Serialize<u64, Postcard>, *] with |_| Serialize::new())]
struct Numbers;

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let either = select!(Serialize::<String, Bincode>::new(), Serialize::<String, Postcard>::new());
    let stack = optimize!(make_stack!(either), Numbers);
    stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    Ok(())
}

fn main() {}
