//! Two ends with different wishes: what they agree on, why, and what a refusal says.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::Error;
use bertha::chunnels::{Bincode, Postcard, Serialize};
use bertha::prelude::*;

#[bertha::main]
async fn main() -> Result<(), Error> {
    // The server can do both codecs, and likes postcard better.
    let server = make_stack!(select!(Serialize::<u32, Postcard>::new(), Serialize::<u32, Bincode>::new(),));
    println!("the server offers {}", server.explain());
    let mut incoming = server.listen(bertha::datapath(), ([127, 0, 0, 1], 0)).await?;
    let addr = incoming.local_addr();
    bertha::spawn(async move {
        while let Some(client) = incoming.next().await {
            match client {
                Ok(connection) => println!("server: {}", connection.explain()),
                Err(error) => println!("server: {error}"),
            }
        }
    });

    let flexible = make_stack!(select!(Serialize::<u32, Bincode>::new(), Serialize::<u32, Postcard>::new()));
    let connection = flexible.connect(bertha::datapath(), addr.clone()).await?;
    println!("flexible client: {}", connection.explain());

    let old = make_stack!(Serialize::<u32, Bincode>::new());
    let connection = old.connect(bertha::datapath(), addr.clone()).await?;
    println!("old client: {}", connection.explain());

    // Both ends would happily exchange four bytes; they are refused because one says metres and the other feet.
    let wrong = make_stack!(Serialize::<u32>::new().schema("feet"));
    match wrong.connect(bertha::datapath(), addr).await {
        Ok(_) => println!("agreed on nonsense"),
        Err(error) => println!("wrong client: {error}"),
    }
    Ok(())
}
