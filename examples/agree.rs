//! Two ends with different preferences: the stack that they agree on, the reason for it, and the text of a
//! refusal.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::Error;
use bertha::chunnels::{Checksum, Nothing, Serialize};
use bertha::prelude::*;

#[bertha::main]
async fn main() -> Result<(), Error> {
    // The server speaks with and without checksums, and prefers checksums.
    let server = make_stack!(Serialize::<u32>::new(), select!(Checksum::new(), Nothing));
    println!("the server offers {}", server.explain());
    let mut incoming = server.listen(bertha::datapath(), "127.0.0.1:0").await?;
    let addr = incoming.local_addr();
    bertha::spawn(async move {
        while let Some(client) = incoming.next_or_refusal().await {
            match client {
                Ok(connection) => println!("server: {}", connection.explain()),
                Err(error) => println!("server: {error}"),
            }
        }
    });

    let flexible = make_stack!(Serialize::<u32>::new(), select!(Nothing, Checksum::new()));
    let connection = flexible.connect(bertha::datapath(), addr.clone()).await?;
    println!("flexible client: {}", connection.explain());

    let old = make_stack!(Serialize::<u32>::new(), Nothing);
    let connection = old.connect(bertha::datapath(), addr.clone()).await?;
    println!("old client: {}", connection.explain());

    // Both ends could exchange four bytes; they are refused because one end means metres and the other feet.
    let wrong = make_stack!(Serialize::<u32>::new().schema("feet"), Nothing);
    match wrong.connect(bertha::datapath(), addr).await {
        Ok(_) => println!("agreed on nonsense"),
        Err(error) => println!("wrong client: {error}"),
    }
    Ok(())
}
