//! The end of a service and of an echo whose other end may be written in another language: messages are CBOR.
//!
//! * `words serve ADDR` answers calls of the service `Words` over TCP, and `words call ADDR TEXT..` makes them.
//! * `words echo ADDR` returns messages over UDP, and `words say ADDR TEXT..` sends some and checks what returns.
//!
//! Without arguments the example is both ends of the service. A server prints `ready at ADDR`, for the address with port 0. In Python a request is the list of the arguments, `["some text"]`, of the
//! method `Words.count`, and its response a dictionary, `{"words": 2, "letters": 8}`; a message of the echo is a dictionary,
//! `{"number": 1, "text": "some text"}`.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::Error;
use bertha::chunnels::{Cbor, Ordered, Reliable, Rpc, Serialize};
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha::rpc::{Client, serve};
use futures_util::{Stream, stream};
use serde::Deserialize;
use std::env::args;
use std::time::Duration;
use tokio::sync::oneshot;

/// The calls that clients can make.
#[bertha::service]
trait Words {
    /// Counts the words and the letters of a text.
    #[idempotent]
    async fn count(&self, text: String) -> Counts;

    /// Returns the letters of a text, one by one.
    fn letters(&self, text: String) -> impl Stream<Item = String>;
}

#[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
struct Counts {
    words: u64,
    letters: u64,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, Deserialize)]
struct Message {
    number: u64,
    text: String,
}

struct Counting;

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| letter.is_alphabetic())
}

impl Words for Counting {
    async fn count(&self, text: String) -> Counts {
        Counts { words: text.split_whitespace().count() as u64, letters: letters(&text).count() as u64 }
    }

    fn letters(&self, text: String) -> impl Stream<Item = String> {
        stream::iter(letters(&text).map(String::from).collect::<Vec<_>>())
    }
}

#[bertha::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let arguments: Vec<_> = args().skip(1).collect();
    let (role, addr, texts) = match &arguments[..] {
        [role, addr, texts @ ..] => (role.as_str(), addr.as_str(), texts),
        [] => return both().await,
        _ => return Err("words serve|call|echo|say ADDR [TEXT..]".into()),
    };
    match role {
        "serve" => answer(addr, |addr| println!("ready at {addr}")).await?,
        "call" => call(addr, texts).await?,
        "echo" => echo(addr).await?,
        "say" => say(addr, texts).await?,
        other => return Err(format!("`{other}` is none of serve, call, echo and say").into()),
    }
    Ok(())
}

async fn both() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (ready, address) = oneshot::channel();
    bertha::spawn(answer("127.0.0.1:0", |addr| drop(ready.send(addr))));
    call(&address.await?, &["to be or not to be".into()]).await
}

async fn answer(addr: &str, ready: impl FnOnce(String)) -> Result<(), Error> {
    let mut clients = make_stack!(Rpc::new().codec(&Cbor)).listen(Tcp::new(), addr).await?;
    ready(clients.local_addr().to_string());
    while let Some(connection) = clients.next().await {
        bertha::spawn(serve(connection, WordsServer::new(Counting).codec(Cbor)).into_future());
    }
    Ok(())
}

async fn call(addr: &str, texts: &[String]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let connection = make_stack!(Rpc::new().codec(&Cbor)).connect(Tcp::new(), addr).await?;
    let words = WordsClient::new(Client::new(connection).codec(Cbor).deadline(Duration::from_secs(5)));
    for text in texts {
        let Counts { words: count, letters } = words.count(text.clone()).await?;
        println!("{text}: {count} words, {letters} letters");
        let mut stream = words.letters(text.clone()).await?;
        while let Some(letter) = stream.next().await {
            println!("{}", letter?);
        }
    }
    Ok(())
}

async fn echo(addr: &str) -> Result<(), Error> {
    let stack = make_stack!(Serialize::<Message, Cbor>::new(), Ordered::new(), Reliable::new());
    let mut clients = stack.listen(bertha::datapath(), addr).await?;
    println!("ready at {}", clients.local_addr());
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

async fn say(addr: &str, texts: &[String]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let stack = make_stack!(Serialize::<Message, Cbor>::new(), Ordered::new(), Reliable::new());
    let connection = stack.connect(bertha::datapath(), addr).await?;
    for (number, text) in (1..).zip(texts) {
        let message = Message { number, text: text.clone() };
        connection.send(message.clone()).await?;
        let returned = connection.recv().await?;
        if returned != message {
            return Err(format!("{message:?} returned as {returned:?}").into());
        }
        println!("{number}: {}", returned.text);
    }
    connection.close().await?;
    Ok(())
}
