//! A program that counts messages above `Reliable` and packets below it, and prints what Prometheus would
//! scrape.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::Error;
use bertha::chunnels::metrics::prometheus;
use bertha::chunnels::{Metrics, Reliable, Serialize};
use bertha::prelude::*;

#[bertha::main]
async fn main() -> Result<(), Error> {
    let server = make_stack!(Serialize::<String>::new(), Reliable::new());
    let mut incoming = server.listen(bertha::datapath(), "127.0.0.1:0").await?;
    let to = incoming.local_addr();
    bertha::spawn(async move {
        while let Some(connection) = incoming.next().await {
            bertha::spawn(echo(connection));
        }
    });

    // The server needs no counterpart: counting changes nothing that the server could see.
    let (messages, packets) = (Metrics::new("messages"), Metrics::new("packets"));
    let client = make_stack!(messages.clone(), Serialize::<String>::new(), Reliable::new(), packets.clone());
    let connection = client.connect(bertha::datapath(), to).await?;
    for number in 0..1_000 {
        connection.send(format!("message {number}")).await?;
        connection.recv().await?;
    }
    connection.close().await?;

    println!("{}", prometheus([&messages, &packets]));
    let latency = messages.snapshot().latency;
    println!("# half of all sends took at most {:?}", latency.quantile(0.5).unwrap_or_default());
    Ok(())
}

async fn echo(connection: impl Connection<Data = String>) -> Result<(), Error> {
    loop {
        connection.send(connection.recv().await?).await?;
    }
}
