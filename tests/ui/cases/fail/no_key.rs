//! Messages without a key under client sharding.

use bertha_chunnels::{ClientShard, Serialize, ShardMap};
use bertha_core::{Error, make_stack};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

#[derive(serde::Serialize, serde::Deserialize)]
struct Request {
    user: u64,
}

async fn client(datapath: SimDatapath, map: ShardMap) -> Result<(), Error> {
    let stack = make_stack!(ClientShard::new(map), Serialize::<Request>::new());
    stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    Ok(())
}

fn main() {}
