//! Sharding below serialisation, where a message is bytes and has no key.

use bertha_chunnels::{Serialize, ServerShard, ShardMap};
use bertha_core::{Error, make_stack};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

async fn server(datapath: SimDatapath, map: ShardMap) -> Result<(), Error> {
    let stack = make_stack!(Serialize::<String>::new(), ServerShard::new(map));
    stack.listen(datapath, ([10, 0, 0, 2], 4242)).await?;
    Ok(())
}

fn main() {}
