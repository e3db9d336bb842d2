//! A generic client that does not ask that the stack runs over the datapath.

use bertha_core::{Addr, Connection, Datapath, Error};
use bertha_negotiation::Negotiate;

async fn client<S: Negotiate, D: Datapath>(stack: S, datapath: D, server: Addr) -> Result<(), Error> {
    let connection = stack.connect(datapath, server).await?;
    connection.close().await
}

fn main() {}
