//! A serialisation on top of another, which already took the bytes.

use bertha_chunnels::Serialize;
use bertha_core::{Error, make_stack};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let stack = make_stack!(Serialize::<String>::new(), Serialize::<u64>::new());
    stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    Ok(())
}

fn main() {}
