//! Listening over any datapath.

use super::AnyConnection;
use super::negotiated::{changing, fixed};
use crate::{Counted, Options, OverDatapath, Side, Stack};
use bertha::core::BoxFuture;
use bertha::local::Registration;
use bertha::prelude::*;
use bertha::{Addr, BoxedStack, Buf, Datapath, Destination, Error, Upgradable};
use std::sync::Arc;

/// Listens over any datapath: the work of [`Transport::run`](crate::Transport::run) at a server.
#[derive(Debug)]
pub struct Listening {
    stack: Stack,
    on: Destination,
    options: Options,
}

impl Listening {
    /// Returns the work of listening at `address`: `IP:PORT`, where port 0 leaves the port to the system, or `unix:PATH`.
    pub fn new(stack: Stack, address: &str, options: Options) -> Self {
        Self { stack, on: Destination::from(address), options }
    }
}

/// The address of a server, its clients, and its entry in the directory of the machine.
pub type Listened = (Addr, Box<dyn AnyIncoming>, Option<Registration>);

impl OverDatapath for Listening {
    type Output = Listened;

    async fn over<D: Datapath + Clone + Counted>(self, datapath: D) -> Result<Listened, Error> {
        let Self { stack: text, on, options } = self;
        let Options { keys, settings, is_upgradable, .. } = options;
        let stack = text.build_on(&datapath, &keys, Side::Server)?;
        let (addr, incoming): (_, Box<dyn AnyIncoming>) = if is_upgradable {
            let incoming = stack.upgradable().listen(datapath, on).settings(settings).await?;
            (incoming.local_addr(), Box::new(Changing::<D>(incoming)))
        } else {
            let incoming = stack.listen(datapath, on).settings(settings).await?;
            (incoming.local_addr(), Box::new(Fixed::<D>(incoming)))
        };
        let name = format!("bertha-{}", std::process::id());
        let registration = keys.register(&text, &name, &addr).await;
        Ok((addr, incoming, registration))
    }
}

/// The clients of a server over any datapath.
pub trait AnyIncoming: Send {
    /// Waits for the next client; `None` if the listener has failed.
    fn next(&mut self) -> BoxFuture<'_, Option<Arc<dyn AnyConnection>>>;
}

struct Fixed<D: Datapath>(bertha::Incoming<BoxedStack<D, Buf>, D>);

impl<D: Datapath> AnyIncoming for Fixed<D> {
    fn next(&mut self) -> BoxFuture<'_, Option<Arc<dyn AnyConnection>>> {
        Box::pin(async move { self.0.next().await.map(fixed) })
    }
}

struct Changing<D: Datapath>(bertha::Incoming<Upgradable<BoxedStack<D, Buf>>, D>);

impl<D: Datapath> AnyIncoming for Changing<D> {
    fn next(&mut self) -> BoxFuture<'_, Option<Arc<dyn AnyConnection>>> {
        Box::pin(async move {
            let client = self.0.next().await?;
            Some(changing(client, |client, to| async move { client.upgrade(to).await.map(drop) }))
        })
    }
}
