//! A service that is found by its name, and found again after it has moved.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::chunnels::Serialize;
use bertha::core::BoxFuture;
use bertha::core::backoff::Backoff;
use bertha::names::Static;
use bertha::prelude::*;
use bertha::{Addr, Error, Name, Received, Resolver};
use std::sync::{Arc, Mutex, PoisonError};

/// A registry of services, in place of DNS or etcd: it holds the service's present address.
#[derive(Clone)]
struct Registry(Arc<Mutex<Static>>);

impl Registry {
    fn at(&self, server: Addr) -> Result<(), Error> {
        let names = Static::new().with("store".parse()?, [server]);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names;
        Ok(())
    }
}

impl Resolver for Registry {
    fn resolve<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move { names.resolve(name).await })
    }
}

#[bertha::main]
async fn main() -> Result<(), Error> {
    let registry = Registry(Arc::default());
    registry.at(serve_once("the first host").await?)?;
    let stack = make_stack!(Serialize::<String>::new());
    let connecting = stack.connect(bertha::datapath(), "store").resolver(registry.clone());
    let connection = connecting.reconnecting(Backoff::default()).await?;
    let mut asked = connection.send("Where are you?".into()).await?;
    loop {
        match connection.recv().await? {
            Received::Message(answer) => {
                println!("{answer}");
                connection.confirm(asked);
                if connection.connections() == 2 {
                    return connection.close().await;
                }
                registry.at(serve_once("the second host").await?)?;
            }
            Received::Interrupted(loss) => {
                println!("The connection is lost, with {} messages in doubt.", loss.in_doubt.count());
                asked = connection.send("And now?".into()).await?;
            }
        }
    }
}

/// Starts a server that answers one message, and then moves away.
async fn serve_once(host: &'static str) -> Result<Addr, Error> {
    let mut clients =
        make_stack!(Serialize::<String>::new()).listen(bertha::datapath(), "127.0.0.1:0").await?;
    let addr = clients.local_addr();
    bertha::spawn(async move {
        let Some(client) = clients.next().await else { return };
        if let Ok(question) = client.recv().await {
            drop(client.send(format!("{question} On {host}.")).await);
        }
        // The client learns of the end; the listener ends with this task.
        drop(client.close().await);
    });
    Ok(addr)
}
