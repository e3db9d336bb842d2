//! A stack of forty elements, written out.

use bertha_chunnels::{Nothing as N, Serialize};
use bertha_core::{Connection, Describe, Error, make_stack};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let stack = make_stack!(
        Serialize::<String>::new(), N, N, N, N, N, N, N, N, N,
        N, N, N, N, N, N, N, N, N, N,
        N, N, N, N, N, N, N, N, N, N,
        N, N, N, N, N, N, N, N, N, N,
    );
    assert_eq!(stack.nodes().len(), 40);
    let connection = stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    connection.send("hello".into()).await
}

fn main() {
    let _ = client;
}
