//! A generic client that does not say which messages the top of the stack carries.

use bertha_core::{Addr, Connection, Error};
use bertha_negotiation::{Negotiate, Runs};

async fn client<S: Negotiate, D: Runs<S>>(stack: S, datapath: D, server: Addr) -> Result<(), Error> {
    let connection = stack.connect(datapath, server).await?;
    connection.send(String::from("hello")).await
}

fn main() {}
