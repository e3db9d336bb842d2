//! Connecting with what is no stack.

use bertha_core::Error;
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

struct Retries(u32);

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    Retries(3).connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    Ok(())
}

fn main() {}
