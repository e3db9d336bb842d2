//! Stacks of different types take each other's place, inside of others as well.

use bertha_chunnels::serialize::Postcard;
use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Connection, Error, make_stack, select};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::{BoxedStack, Negotiate};

fn choose(datapath: &SimDatapath, short: bool) -> BoxedStack<SimDatapath, String> {
    if short {
        make_stack!(Serialize::<String, Postcard>::new()).boxed(datapath)
    } else {
        make_stack!(Nothing, Serialize::<String>::new()).boxed(datapath)
    }
}

async fn client(datapath: SimDatapath, short: bool) -> Result<String, Error> {
    let first = choose(&datapath, short);
    let second = choose(&datapath, !short);
    let stack = make_stack!(Nothing, select!(first, second)).boxed(&datapath);
    let connection = stack.clone().connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    connection.send("hello".into()).await?;
    connection.recv().await
}

fn main() {
    let _ = client;
}
