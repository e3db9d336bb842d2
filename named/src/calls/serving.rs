//! Serving over any datapath.

use super::forwarding::Forwarding;
use super::{AnyServer, ArrivedCall, ServerEnd, check};
use crate::{Counted, Options, OverDatapath, Side, Stack};
use bertha::prelude::*;
use bertha::rpc::{Message, serve};
use bertha::{Datapath, Destination, Error, Incoming};
use std::sync::Arc;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;

/// Number of calls that wait to be taken, of all clients together.
const WAITING: usize = 64;

/// Serves over any datapath: the work of [`Transport::run`](crate::Transport::run) at a server, within tokio.
#[derive(Debug)]
pub struct Serving {
    stack: Stack,
    on: Destination,
    options: Options,
}

impl Serving {
    /// Returns the work of listening at `address`, as [`Listening`](crate::Listening) has it, with `Rpc` on top of the stack.
    pub fn new(stack: Stack, address: &str, options: Options) -> Self {
        Self { stack, on: Destination::from(address), options }
    }
}

impl OverDatapath for Serving {
    type Output = AnyServer;

    async fn over<D: Datapath + Clone + Counted>(self, datapath: D) -> Result<AnyServer, Error> {
        let Self { stack: text, on, options } = self;
        check(&options)?;
        let Options { keys, settings, codec, .. } = options;
        let below = text.build_on(&datapath, &keys, Side::Server)?;
        let incoming = make_stack!(codec.rpc(), below).listen(datapath, on).settings(settings).await?;
        let address = incoming.local_addr();
        let registration = keys.register(&text, &format!("bertha-{}", std::process::id()), &address).await;
        let (arrived, calls) = channel(WAITING);
        let end = ServerEnd::default();
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(incoming, arrived, end.clone()));
        Ok(AnyServer { address, calls, end, _registration: registration, _accepting: accepting })
    }
}

/// Serves each client in a task of its own, until the service leaves, and then waits for their last calls.
async fn accept<S, D>(mut incoming: Incoming<S, D>, calls: Sender<ArrivedCall>, end: ServerEnd)
where
    S: Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data = Message>>,
{
    let service = Arc::new(Forwarding { calls });
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            client = incoming.next() => {
                let Some(client) = client else { break };
                let serving = serve(client, service.clone()).until(&end.shutdown).into_future();
                // A client that is lost has failed its calls by itself.
                clients.spawn(async move { drop(serving.await) });
            }
            Some(_) = clients.join_next() => {}
            () = end.leaving.notified() => incoming.close(),
        }
    }
    drop(incoming);
    while clients.join_next().await.is_some() {}
}
