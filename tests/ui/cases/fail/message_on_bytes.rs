//! A Chunnel for messages directly on a connection of bytes.

use bertha::chunnels::Serialize;
use bertha::core::Datapath;
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha::{Addr, Error};

async fn client(server: Addr) -> Result<(), Error> {
    let bytes = Tcp::new().bytes().connect(server).await?;
    let connection = make_stack!(Serialize::<String>::new()).wrap(bytes).await?;
    connection.send("hello".into()).await
}

fn main() {}
