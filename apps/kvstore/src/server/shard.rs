//! One shard: a store and its clients.

use super::{Handler, Listening, Stop};
use crate::{Capacity, Message, Store};
use bertha::Error;
use bertha::chunnels::shard::ShardQueue;
use bertha::prelude::*;
use parking_lot::Mutex;
use std::sync::Arc;

/// The most requests that are handled before their replies are sent.
const BURST: usize = 256;

/// Answers requests out of a store, which all connections of a shard share.
#[derive(Clone, Debug)]
pub struct Shard {
    // On tokio a shard has one thread, so nobody ever waits for the lock, which is taken once for a burst.
    store: Arc<Mutex<Store>>,
}

impl Shard {
    /// With an empty store.
    pub fn new(capacity: Capacity) -> Self {
        Self { store: Arc::new(Mutex::new(Store::new(capacity))) }
    }

    /// Puts replies in the place of requests.
    fn answer(&self, messages: &mut [Message]) {
        let mut store = self.store.lock();
        messages.iter_mut().for_each(|message| store.answer(message));
    }

    /// Answers the requests that a router in the same process passes on, until there is no such router any more.
    pub async fn serve_queue(&self, mut queue: ShardQueue<Message>) {
        let mut requests = Vec::with_capacity(BURST);
        while queue.recv_batch(&mut requests, BURST).await.is_ok() {
            let mut store = self.store.lock();
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

/// Sends replies. One that can't be sent is lost, as a datagram would be; its client asks again.
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
            Err(error) if error.kind().is_of_one_message() && replies.len() < before => {
                tracing::debug!(%error, "lost a reply");
            }
            Err(error) => return Err(error),
        }
    }
}

/// Serves the connections and the router until it is time to stop.
pub(super) async fn run<S>(
    listening: Listening<S>,
    shard: Shard,
    queue: Option<ShardQueue<Message>>,
    stop: Stop,
) where
    S: Negotiate + 'static,
    super::listening::Datapath: Runs<S, Out: Connection<Data = Message>>,
{
    if let Some(queue) = queue {
        let (from_router, mut stop) = (shard.clone(), stop.clone());
        bertha::spawn(async move {
            tokio::select! {
                () = from_router.serve_queue(queue) => {}
                () = stop.wait() => {}
            }
        });
    }
    listening.serve(shard, stop).await;
}
