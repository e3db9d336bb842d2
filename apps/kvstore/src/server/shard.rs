//! A shard: a store and its clients.

use super::listening::Datapath;
use super::{Handler, Listening, Stop};
use crate::resp;
use crate::shared_store::SharedStore;
use crate::{Capacity, Message};
use bertha::Error;
use bertha::chunnels::shard::ShardQueue;
use bertha::prelude::*;

/// Largest number of requests that are handled before their replies are sent.
const BURST: usize = 256;

/// A handler that answers requests from a store, which all connections of a shard share.
#[derive(Clone, Debug)]
pub struct Shard {
    store: SharedStore,
}

impl Shard {
    /// Creates a shard with an empty store.
    pub fn new(capacity: Capacity) -> Self {
        Self { store: SharedStore::new(capacity) }
    }

    pub(super) fn store(&self) -> &SharedStore {
        &self.store
    }

    /// Replaces requests by their replies.
    fn answer(&self, messages: &mut [Message]) {
        let mut store = self.store.borrow();
        messages.iter_mut().for_each(|message| store.answer(message));
    }

    /// Answers the requests that a router in this process passes on, until the router is gone.
    pub async fn serve_queue(&self, mut queue: ShardQueue<Message>) {
        let mut requests = Vec::with_capacity(BURST);
        while queue.recv_batch(&mut requests, BURST).await.is_ok() {
            let mut store = self.store.borrow();
            for (request, client) in requests.drain(..) {
                client.send(store.handle(request));
            }
        }
    }
}

impl Handler for Shard {
    async fn serve<C>(&self, connection: &C) -> Error
    where
        C: Connection<Data = Message>,
    {
        let mut messages = Vec::with_capacity(BURST);
        loop {
            if let Err(ended) = connection.recv_batch(&mut messages, BURST).await {
                return ended;
            }
            self.answer(&mut messages);
            if let Err(ended) = send_all(connection, messages.drain(..)).await {
                return ended;
            }
        }
    }
}

/// Sends replies. A reply that can't be sent is lost, as a datagram would be; its client asks again.
async fn send_all<C>(
    connection: &C,
    mut replies: impl ExactSizeIterator<Item = Message> + Send,
) -> Result<(), Error>
where
    C: Connection<Data = Message>,
{
    loop {
        let before = replies.len();
        match connection.send_batch(&mut replies).await {
            Ok(()) => return Ok(()),
            Err(error) if !error.ends_connection() && replies.len() < before => {
                tracing::debug!(%error, "lost a reply");
            }
            Err(error) => return Err(error),
        }
    }
}

/// The clients that speak RESP, and the shards that forward their operations.
pub(super) struct WithResp {
    pub(super) fronts: resp::Fronts,
    pub(super) end: resp::RouteEnd,
    pub(super) shared: resp::RespShared,
}

/// The listeners of a shard.
pub(super) struct ShardListeners<S>
where
    Datapath: Runs<S>,
{
    pub(super) listening: Listening<S>,
    pub(super) with_resp: Option<WithResp>,
}

/// Serves the connections, the router and clients that speak RESP until the shard has to stop.
pub(super) async fn run<S>(
    ShardListeners { listening, with_resp }: ShardListeners<S>,
    shard: Shard,
    queue: Option<ShardQueue<Message>>,
    stop: Stop,
) where
    S: Negotiate + 'static,
    Datapath: Runs<S, Out: Connection<Data = Message>>,
{
    if let Some(queue) = queue {
        let from_router = shard.clone();
        spawn_until(stop.clone(), async move { from_router.serve_queue(queue).await });
    }
    let mut fronts = None;
    if let Some(WithResp { fronts: open, end, shared }) = with_resp {
        spawn_until(stop.clone(), resp::serve_forwarded(shard.store.clone(), end.forwarded));
        if end.routes.is_first() {
            spawn_until(stop.clone(), resp::sweep(shared.places.clone()));
        }
        let clients =
            resp::Clients { store: shard.store.clone(), routes: end.routes, shared, stop: stop.clone() };
        fronts = Some(open.serve(clients));
    }
    let serving = async {
        if let Some(fronts) = fronts {
            fronts.await;
        }
    };
    tokio::join!(listening.serve(shard, stop), serving);
}

/// Starts a task that ends when the shard has to stop.
fn spawn_until(mut stop: Stop, task: impl Future<Output = ()> + Send + 'static) {
    bertha::spawn(async move {
        tokio::select! {
            () = task => {}
            () = stop.wait() => {}
        }
    });
}
