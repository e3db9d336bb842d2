//! A Chunnel for bytes directly on a datapath of messages.

use bertha::chunnels::LineFramed;
use bertha::kernel::Udp;
use bertha::prelude::*;
use bertha::{Addr, Error};

async fn client(server: Addr) -> Result<(), Error> {
    let connection = make_stack!(LineFramed::new()).connect(Udp::new(), server).await?;
    connection.send("hello".into()).await
}

fn main() {}
