//! Messages in Rust, as `bindings/python/speed/messages.py` sends them in Python.

use crate::{Error, ErrorKind};
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha::{Base, Buf};
use bertha_named::{Keys, Side, Stack};
use clap::Args;
use std::future::pending;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Number of messages of which the server confirms the last.
const WINDOW: usize = 100;

/// The server of a client that sends.
#[derive(Debug, Args)]
pub(crate) struct SendOptions {
    address: String,
    size: usize,
    seconds: f64,
}

/// Prints an address, and takes messages there until it is killed.
///
/// # Errors
/// Errors of the runtime and of the listener.
pub(crate) fn serve() -> Result<(), Error> {
    run("serving messages", async {
        print(&listen().await?);
        pending().await
    })
}

/// Prints the messages per second that the server takes.
///
/// # Errors
/// Errors of the runtime and of the connection.
pub(crate) fn send(options: &SendOptions) -> Result<(), Error> {
    let SendOptions { address, size, seconds } = options;
    run("sending messages", async {
        print(&rate(address, *size, Duration::from_secs_f64(*seconds)).await?);
        Ok(())
    })
}

/// Runs work on the runtime that the bindings have.
fn run(what: &'static str, work: impl Future<Output = Result<(), bertha::Error>>) -> Result<(), Error> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))?;
    runtime.block_on(work).map_err(Error::while_doing(ErrorKind::Bertha, what))
}

#[allow(clippy::print_stdout, reason = "the other process reads it")]
fn print(what: &impl std::fmt::Display) {
    println!("{what}");
}

/// The empty stack, which is boxed as any stack that is text.
fn stack() -> Result<Stack, bertha::Error> {
    "".parse().map_err(bertha::Error::from)
}

/// Takes the messages of all clients, and returns the address.
async fn listen() -> Result<bertha::Addr, bertha::Error> {
    let datapath = Tcp::new();
    let stack = stack()?.build_on(&datapath, &Keys::default(), Side::Server)?;
    let mut incoming = stack.listen(datapath, "127.0.0.1:0").await?;
    let address = incoming.local_addr();
    tokio::spawn(async move {
        while let Some(client) = incoming.next().await {
            // A client that ends has all that it wanted.
            tokio::spawn(async move { take(&client).await });
        }
    });
    Ok(address)
}

async fn take(client: &impl Connection<Data = Buf>) -> Result<(), bertha::Error> {
    drop(client.recv().await?);
    loop {
        for _ in 0..WINDOW {
            drop(client.recv().await?);
        }
        client.send(message(client, b"taken")?).await?;
    }
}

async fn rate(address: &str, size: usize, time: Duration) -> Result<f64, bertha::Error> {
    let datapath = Tcp::new();
    let stack = stack()?.build_on(&datapath, &Keys::default(), Side::Client { host: "localhost" })?;
    let connection = stack.connect(datapath, address).await?;
    connection.send(message(&connection, b"send")?).await?;
    let bytes = vec![0; size];
    window(&connection, &bytes).await?;
    let (began, mut windows) = (Instant::now(), 0);
    while windows == 0 || began.elapsed() < time {
        window(&connection, &bytes).await?;
        windows += 1;
    }
    Ok((windows * WINDOW) as f64 / began.elapsed().as_secs_f64())
}

async fn window(connection: &impl Connection<Data = Buf>, bytes: &[u8]) -> Result<(), bertha::Error> {
    for _ in 0..WINDOW {
        connection.send(message(connection, bytes)?).await?;
    }
    connection.recv().await.map(drop)
}

fn message(connection: &impl Connection<Data = Buf>, bytes: &[u8]) -> Result<Buf, bertha::Error> {
    let mut message = connection.base().buffer(bytes.len())?;
    message.copy_from_slice(bytes);
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_server_confirms_what_it_takes() {
        let address = listen().await.unwrap().to_string();
        assert!(rate(&address, 64, Duration::ZERO).await.unwrap() > 0.0);
    }
}
