//! Messages that come back, over any datapath of this machine.
//!
//! `echo serve DATAPATH ADDRESS` and `echo ask DATAPATH ADDRESS TEXT..`; the datapath is udp, tcp, unix or shm.

use crate::Outcome;
use bertha::chunnels::{Checksum, Nothing, Ordered, Reliable};
use bertha::kernel::{Tcp, Udp, Unix};
use bertha::prelude::*;
use bertha::shm::Shm;
use bertha::{Base, Datapath};

pub(crate) async fn serve(datapath: &str, address: &str) -> Outcome {
    match datapath {
        "udp" => serve_over(Udp::new(), address).await,
        "tcp" => serve_over(Tcp::new(), address).await,
        "unix" => serve_over(Unix::new(), address).await,
        "shm" => serve_over(Shm::new(), address).await,
        other => Err(format!("`{other}` is none of udp, tcp, unix and shm").into()),
    }
}

pub(crate) async fn ask(datapath: &str, address: &str, texts: &[&str]) -> Outcome {
    match datapath {
        "udp" => ask_over(Udp::new(), address, texts).await,
        "tcp" => ask_over(Tcp::new(), address, texts).await,
        "unix" => ask_over(Unix::new(), address, texts).await,
        "shm" => ask_over(Shm::new(), address, texts).await,
        other => Err(format!("`{other}` is none of udp, tcp, unix and shm").into()),
    }
}

async fn serve_over(datapath: impl Datapath, address: &str) -> Outcome {
    let stack = make_stack!(Ordered::new(), Reliable::new(), select!(Checksum::new(), Nothing));
    let mut clients = stack.listen(datapath, address).await?;
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

async fn ask_over(datapath: impl Datapath, address: &str, texts: &[&str]) -> Outcome {
    let stack = make_stack!(Ordered::new(), Reliable::new(), select!(Checksum::new(), Nothing));
    let connection = stack.connect(datapath, address).await?;
    for text in texts {
        let mut message = connection.base().buffer(text.len())?;
        message.copy_from_slice(text.as_bytes());
        connection.send(message).await?;
        println!("{}", String::from_utf8_lossy(&connection.recv().await?));
    }
    connection.close().await?;
    Ok(())
}
