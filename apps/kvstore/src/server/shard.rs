//! One shard: a store and its clients.

use super::{Handler, Listening, Stop};
use crate::{Capacity, Message, Store};
use bertha::Error;
use bertha::chunnels::shard::ShardQueue;
use bertha::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// The most requests that are handled before their replies are sent.
const BURST: usize = 256;

/// Answers requests out of a store, which all connections of the thread share.
#[derive(Clone, Debug)]
pub struct Shard {
    // No lock: the store never leaves its thread.
    store: Rc<RefCell<Store>>,
}

impl Shard {
    /// With an empty store.
    pub fn new(capacity: Capacity) -> Self {
        Self { store: Rc::new(RefCell::new(Store::new(capacity))) }
    }

    /// Puts replies in the place of requests.
    fn answer(&self, messages: &mut [Message]) {
        let mut store = self.store.borrow_mut();
        messages.iter_mut().for_each(|message| store.answer(message));
    }

    /// Answers the requests that a router in the same process passes on, until there is no such router any more.
    pub async fn serve_queue(&self, mut queue: ShardQueue<Message>) {
        let mut requests = Vec::with_capacity(BURST);
        while queue.recv_batch(&mut requests, BURST).await.is_ok() {
            let mut store = self.store.borrow_mut();
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
    let from_router = shard.clone();
    let router =
        queue.map(|queue| tokio::task::spawn_local(async move { from_router.serve_queue(queue).await }));
    listening.serve(shard, stop).await;
    if let Some(router) = router {
        router.abort();
    }
}
