//! A value in a stack that is no Chunnel.

use bertha_chunnels::Serialize;
use bertha_core::{Error, make_stack};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

struct Retries(u32);

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let stack = make_stack!(Serialize::<String>::new(), Retries(3));
    stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    Ok(())
}

fn main() {}
