//! The smallest pair: a server that sends every string back, and a client that checks it.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut incoming =
        make_stack!(Serialize::<String>::new()).listen(bertha::datapath(), ([127, 0, 0, 1], 0)).await?;
    let server = incoming.local_addr();
    tokio::spawn(async move {
        while let Some(client) = incoming.next().await {
            match client {
                Ok(connection) => drop(tokio::spawn(echo(connection))),
                Err(error) => println!("a client was turned away: {error}"),
            }
        }
    });

    let connection = make_stack!(Serialize::<String>::new()).connect(bertha::datapath(), server).await?;
    println!("agreed on: {}", connection.explain());
    for word in ["one", "two", "three"] {
        connection.send(word.into()).await?;
        println!("{word} -> {}", connection.recv().await?);
    }
    connection.close().await
}

async fn echo(connection: impl Connection<Data = String>) -> Result<(), Error> {
    loop {
        connection.send(connection.recv().await?).await?;
    }
}
