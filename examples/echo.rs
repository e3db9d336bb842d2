//! The smallest pair: a server that returns every string, and a client that checks it.
//!
//! The command `echo` runs both; `echo serve ADDR` and `echo ask ADDR` run one end each, for two processes.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::chunnels::Serialize;
use bertha::prelude::*;
use bertha::{Addr, Error};
use std::env::args;

#[bertha::main]
async fn main() -> Result<(), Error> {
    let role = args().nth(1);
    let addr = args().nth(2).unwrap_or("127.0.0.1:0".into()).parse()?;
    if role.as_deref() == Some("ask") {
        return ask(addr).await;
    }
    let mut incoming = make_stack!(Serialize::<String>::new()).listen(bertha::datapath(), addr).await?;
    let server = incoming.local_addr();
    println!("ready at {server}");
    let serving = async move {
        while let Some(client) = incoming.next().await {
            bertha::spawn(echo(client));
        }
    };
    if role.as_deref() == Some("serve") {
        serving.await;
        return Ok(());
    }
    bertha::spawn(serving);
    ask(server).await
}

async fn ask(server: Addr) -> Result<(), Error> {
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
