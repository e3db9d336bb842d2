//! A typed service: a trait, its implementation, a server, and a client with a deadline that reconnects when
//! necessary.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::chunnels::Rpc;
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha::rpc::{Client, Reconnecting, serve};
use bertha::{Addr, Error};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The calls that clients can make.
#[bertha::service]
trait Greeter {
    /// Returns a greeting for a name. A client may repeat the call if a connection is lost.
    #[idempotent]
    async fn greet(&self, name: String) -> String;
}

struct English;

impl Greeter for English {
    async fn greet(&self, name: String) -> String {
        format!("hello, {name}")
    }
}

#[bertha::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let server = start().await?;
    let connect = move || {
        let server = server.clone();
        async move { make_stack!(Rpc::new()).connect(Tcp::new(), server).await }
    };
    let client = Client::over(Reconnecting::new(connect).await?).deadline(Duration::from_secs(1));
    let greeter = GreeterClient::new(client);
    for name in ["Ada", "Grace"] {
        println!("{}", greeter.greet(name.into()).await?);
        // The pause is longer than the server keeps a connection.
        sleep(Duration::from_millis(100)).await;
    }
    println!("connected {} times", greeter.client().caller().connections());
    Ok(())
}

/// Starts a server, which drops each client after 50 ms, as a restarted server does.
async fn start() -> Result<Addr, Error> {
    let mut clients = make_stack!(Rpc::new()).listen(Tcp::new(), "127.0.0.1:0").await?;
    let addr = clients.local_addr();
    bertha::spawn(async move {
        while let Some(connection) = clients.next().await {
            let serving = serve(connection, GreeterServer::new(English)).into_future();
            bertha::spawn(timeout(Duration::from_millis(50), serving));
        }
    });
    Ok(addr)
}
