//! A shard: a store and its clients.

use super::listening::Datapath;
use super::scans::{self, Scans};
use super::siblings::{self, Question, Siblings};
use super::{Handler, Listening, Stop};
use crate::resp;
use crate::shared_store::SharedStore;
use crate::{Body, Capacity, Message, Reason, Store};
use bertha::Error;
use bertha::chunnels::shard::{ReplyTo, ShardQueue};
use bertha::prelude::*;
use tokio::sync::mpsc;

/// Largest number of requests that are handled before their replies are sent, and of scans of a connection or
/// of the router that are under way.
const BURST: usize = 256;

/// A handler that answers requests from a store, which all connections of a shard share.
#[derive(Clone, Debug)]
pub struct Shard {
    store: SharedStore,
    scope: Scope,
}

/// The shards whose records a scan returns.
#[derive(Clone, Debug)]
enum Scope {
    /// This shard is the whole store.
    Alone,
    /// All shards of this process.
    Siblings(Siblings),
    /// The other shards are out of reach.
    Elsewhere,
}

impl Shard {
    /// Creates a shard with an empty store, which is the whole store.
    pub fn new(capacity: Capacity) -> Self {
        Self { store: SharedStore::new(capacity), scope: Scope::Alone }
    }

    /// Creates one of the shards of this process, with an empty store.
    pub(super) fn among(siblings: Siblings, capacity: Capacity) -> Self {
        Self { scope: Scope::Siblings(siblings), ..Self::new(capacity) }
    }

    /// Creates a shard with an empty store, whose siblings are in other processes. It refuses scans.
    pub(super) fn alone_in_process(capacity: Capacity) -> Self {
        Self { scope: Scope::Elsewhere, ..Self::new(capacity) }
    }

    pub(super) fn store(&self) -> &SharedStore {
        &self.store
    }

    /// Answers the requests that a router in this process passes on, until the router is gone.
    pub async fn serve_queue(&self, mut queue: ShardQueue<Message>) {
        let mut scans = Scans::<ReplyTo<Message>>::new(BURST);
        let mut requests = Vec::with_capacity(BURST);
        loop {
            let room = scans.room();
            tokio::select! {
                biased;
                scanned = scans.next(), if !scans.is_empty() => {
                    scanned.into_iter().for_each(|(reply, client)| client.send(reply));
                }
                received = queue.recv_batch(&mut requests, room), if room > 0 => {
                    if received.is_err() {
                        return;
                    }
                    let mut store = self.store.borrow();
                    for (mut message, client) in requests.drain(..) {
                        match self.answer(&mut store, &mut message) {
                            Answered::Here => client.send(message),
                            Answered::With(siblings) => scans.begin(message, &self.store, siblings, client),
                        }
                    }
                }
            }
        }
    }
}

impl Handler for Shard {
    async fn serve<C>(&self, connection: &C) -> Error
    where
        C: Connection<Data = Message>,
    {
        // It grows with the bursts of the client: most of many clients send little at a time.
        let mut messages = Vec::new();
        let mut scans = Scans::new(BURST);
        loop {
            // Mostly there is no scan, and waiting for one thing costs less than for two.
            let received = if scans.is_empty() {
                connection.recv_batch(&mut messages, BURST).await
            } else {
                let room = scans.room();
                tokio::select! {
                    biased;
                    scanned = scans.next() => {
                        messages.extend(scanned.map(|(reply, ())| reply));
                        Ok(0)
                    }
                    received = connection.recv_batch(&mut messages, room), if room > 0 => received,
                }
            };
            match received {
                Ok(0) => {}
                Ok(_) => self.answer_burst(&mut messages, &mut scans),
                Err(ended) => return ended,
            }
            if let Err(ended) = send_all(connection, messages.drain(..)).await {
                return ended;
            }
        }
    }
}

impl Shard {
    /// Replaces requests by their replies, and begins the scans among them, which are taken out.
    fn answer_burst(&self, messages: &mut Vec<Message>, scans: &mut Scans<()>) {
        let mut store = self.store.borrow();
        let mut with = None;
        for message in &mut *messages {
            if let Answered::With(siblings) = self.answer(&mut store, message) {
                with = Some(siblings);
            }
        }
        if let Some(siblings) = with {
            let left = messages.extract_if(.., |message| matches!(message.body, Body::Scan { .. }));
            left.for_each(|scan| scans.begin(scan, &self.store, siblings, ()));
        }
    }

    /// Answers a request that came by itself; `None` if the shards of a scan have stopped.
    pub(super) async fn reply_to(&self, mut request: Message) -> Option<Message> {
        let answered = self.answer(&mut self.store.borrow(), &mut request);
        match answered {
            Answered::Here => Some(request),
            Answered::With(siblings) => scans::carry_out(request, &self.store, siblings).await,
        }
    }

    /// Replaces a request by its reply, unless the reply needs other shards.
    #[inline]
    fn answer(&self, store: &mut Store, message: &mut Message) -> Answered<'_> {
        if let Body::Scan { .. } = message.body {
            match &self.scope {
                Scope::Siblings(siblings) if message.check().is_ok() => return Answered::With(siblings),
                Scope::Siblings(_) | Scope::Alone => {}
                Scope::Elsewhere => {
                    message.body = Body::Failed(Reason::PartOfStore);
                    return Answered::Here;
                }
            }
        }
        store.answer(message);
        Answered::Here
    }
}

/// The place where a request is answered.
enum Answered<'s> {
    /// The request has become its reply.
    Here,
    /// The request is a scan, to be carried out with the siblings.
    With(&'s Siblings),
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

/// The ways by which other threads of this process reach a shard.
#[derive(Default)]
pub(super) struct Inlets {
    /// Requests from a router in this process.
    pub(super) queue: Option<ShardQueue<Message>>,
    /// Questions of the siblings.
    pub(super) questions: Option<mpsc::Receiver<Question>>,
}

/// Serves the connections, the router, the siblings and clients that speak RESP until the shard has to stop.
pub(super) async fn run<S>(
    ShardListeners { listening, with_resp }: ShardListeners<S>,
    shard: Shard,
    Inlets { queue, questions }: Inlets,
    stop: Stop,
) where
    S: Negotiate + 'static,
    Datapath: Runs<S, Out: Connection<Data = Message>>,
{
    if let Some(queue) = queue {
        let from_router = shard.clone();
        spawn_until(stop.clone(), async move { from_router.serve_queue(queue).await });
    }
    if let Some(questions) = questions {
        spawn_until(stop.clone(), siblings::serve(shard.store.clone(), questions));
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
