//! A server and a client, whose calls go through the daemon of the machine: `calls SOCKET serve`, and `calls SOCKET ask NAME`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

/// The types of the service.
#[allow(missing_docs, unreachable_pub, reason = "the schema documents what it needs to")]
mod greetings {
    include!(concat!(env!("OUT_DIR"), "/greetings.rs"));
}

use bertha_managed::Failure;
use bertha_managed::application::{Attach, Lent};
use bertha_managed::heap::Heap;
use greetings::greeter::{Client, Handler, Server};
use greetings::{Greeting, Name};
use std::env::args;
use std::error::Error;
use std::time::Duration;

struct English;

impl Handler for English {
    async fn greet(&self, name: Lent<Name>, heap: &Heap) -> Result<Greeting, Failure> {
        let mut greeting = Greeting::new_in(heap);
        greeting.text_mut().push_str("hello, ");
        greeting.text_mut().push_str(name.name());
        Ok(greeting)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [socket, "serve"] => serve(socket).await,
        [socket, "ask", name] => ask(socket, name).await,
        _ => Err("usage: calls SOCKET serve, or calls SOCKET ask NAME".into()),
    }
}

async fn serve(socket: &str) -> Result<(), Box<dyn Error>> {
    let server = Attach::new(socket, "english").server("greeter").await?;
    println!("ready");
    match server.serve(Server(English)).await {}
}

async fn ask(socket: &str, name: &str) -> Result<(), Box<dyn Error>> {
    let attached = Attach::new(socket, "asker").client("greeter").await?;
    let client = Client::new(attached).deadline(Duration::from_secs(5));
    let mut request = Name::new_in(&client.heap());
    request.name_mut().push_str(name);
    println!("{}", client.greet(request).await?.text());
    Ok(())
}
