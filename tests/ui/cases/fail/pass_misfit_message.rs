//! A message of the type that the stack carried before the pass.

use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Connection, Error, make_stack, optimize, subst};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

#[subst(if [*, Nothing, *] then [*, Serialize<u64>, *] with |_| Serialize::new())]
struct Numbers;

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let stack = optimize!(make_stack!(Nothing), Numbers);
    let connection = stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    connection.send(String::new()).await
}

fn main() {}
