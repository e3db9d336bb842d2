//! A message of another type than the top of the stack carries.

use bertha_chunnels::Serialize;
use bertha_core::{Connection, Error, make_stack};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let stack = make_stack!(Serialize::<String>::new());
    let connection = stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    connection.send(42).await
}

fn main() {}
