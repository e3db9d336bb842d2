//! Another stack, while messages flow.
//!
//! `change serve ADDRESS` and `change ask ADDRESS`.

use crate::Outcome;
use bertha::chunnels::{Checksum, Nothing};
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha::{Base, Error, Pick};
use tokio::try_join;

/// Number of messages that come back, in order, while the stack changes.
const MESSAGES: u64 = 1_000;

pub(crate) async fn serve(address: &str) -> Outcome {
    let stack = make_stack!(select!(Checksum::new(), Nothing)).upgradable();
    let mut clients = stack.listen(Tcp::new(), address).await?;
    println!("{}", clients.local_addr());
    while let Some(client) = clients.next().await {
        bertha::spawn(async move {
            while let Ok(message) = client.recv().await {
                client.send(message).await?;
            }
            client.close().await
        });
    }
    Ok(())
}

pub(crate) async fn ask(address: &str) -> Outcome {
    let stack = make_stack!(select!(Checksum::new(), Nothing)).upgradable();
    let connection = stack.connect(Tcp::new(), address).await?;
    println!("{}", connection.explain().chunnels().collect::<String>());
    let traffic = async {
        for number in 0..MESSAGES {
            let text = number.to_string();
            let mut message = connection.base().buffer(text.len())?;
            message.copy_from_slice(text.as_bytes());
            connection.send(message).await?;
            assert_eq!(connection.recv().await?[..], *text.as_bytes());
        }
        Ok::<_, Error>(())
    };
    try_join!(traffic, connection.upgrade(Pick::alternative(1)))?;
    println!("{}", connection.explain().chunnels().collect::<String>());
    println!("{MESSAGES} messages");
    connection.close().await?;
    Ok(())
}
