//! The server.

use super::deadline::within;
use super::open::Reach;
use crate::link::{FromLink, Start};
use crate::proto::{Decision, Terms, agreed_idle_timeout, decide};
use crate::wire::Answer;
use crate::{Agreement, Link, Negotiated, Runs, Settings};
use bertha_core::{
    Addr, Base, BoxFuture, Buf, Connection, Describe, Error, Listener, More, Node, Picks, Role,
};
use futures_util::future::{FutureExt, pending};
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, select_biased};
use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;

/// How many refused connection ids are remembered, so that a repeated offer is not reported twice.
const REFUSED: usize = 64;

/// Starts to serve.
pub(crate) async fn listen<S, D>(
    stack: S,
    datapath: D,
    on: Addr,
    settings: Settings,
) -> Result<Incoming<S, D>, Error>
where
    S: Describe,
    D: Runs<S>,
{
    let listener = datapath.listen(on).await?;
    let (to_listener, from_links) = mpsc::channel(settings.concurrent_handshakes.max(1));
    let nodes = stack.nodes();
    tracing::debug!(stack = %stack.explain(), addr = %listener.local_addr(), "listening");
    let server = Arc::new(Server {
        stack,
        nodes,
        datapath,
        listener,
        settings,
        to_listener,
        dropped: AtomicU64::new(0),
    });
    Ok(Incoming { server, from_links, handshakes: FuturesUnordered::new(), refused: VecDeque::new() })
}

/// The clients of a server: each item is a connection, or what kept one client from getting one.
///
/// Handshakes make progress while [`next`](Self::next) is awaited, up to a bounded number at once; with inline
/// demultiplexing, so do the connections of the same listener.
pub struct Incoming<S, D: Runs<S>> {
    server: Arc<Server<S, D>>,
    from_links: mpsc::Receiver<FromLink<D::Connection>>,
    handshakes: FuturesUnordered<BoxFuture<'static, Outcome<D::Out>>>,
    refused: VecDeque<u64>,
}

struct Server<S, D: Runs<S>> {
    stack: S,
    nodes: Vec<Node>,
    datapath: D,
    listener: D::Listener,
    settings: Settings,
    to_listener: mpsc::Sender<FromLink<D::Connection>>,
    dropped: AtomicU64,
}

/// How one handshake ended.
enum Outcome<C> {
    Accepted(Negotiated<C>),
    Refused {
        id: u64,
        error: Error,
    },
    Failed(Error),
    /// It was none, or is not finished.
    Nothing,
}

impl<S, D> Incoming<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    /// Waits for the next client. One bad client is an item of its own and does not end the loop; nothing after the
    /// last item but `None`, when the datapath's listener has failed for good. Cancellation-safe.
    pub async fn next(&mut self) -> Option<Result<Negotiated<D::Out>, Error>> {
        loop {
            let is_full = self.handshakes.len() >= self.server.settings.concurrent_handshakes;
            let server = self.server.clone();
            let mut accept = pin!(
                async move { if is_full { pending().await } else { server.listener.accept().await } }.fuse()
            );
            let handshake: BoxFuture<'static, _> = select_biased! {
                outcome = self.handshakes.select_next_some() => match self.report(outcome) {
                    Some(item) => return Some(item),
                    None => continue,
                },
                from_link = self.from_links.recv().fuse() => match from_link {
                    Some(FromLink::Offered { base, offer, number }) => {
                        Box::pin(self.server.clone().reoffered(base, offer, number))
                    }
                    Some(FromLink::Confirmed { base, offer }) => Box::pin(self.server.clone().greet(base, offer)),
                    None => continue,
                },
                accepted = accept => match accepted {
                    Ok(base) => Box::pin(self.server.clone().meet(base)),
                    Err(error) => {
                        tracing::error!(%error, "the listener has failed");
                        return None;
                    }
                },
            };
            self.handshakes.push(handshake);
        }
    }

    fn report(&mut self, outcome: Outcome<D::Out>) -> Option<Result<Negotiated<D::Out>, Error>> {
        match outcome {
            Outcome::Accepted(connection) => Some(Ok(connection)),
            Outcome::Failed(error) => Some(Err(error)),
            Outcome::Nothing => None,
            Outcome::Refused { id, .. } if self.refused.contains(&id) => None,
            Outcome::Refused { id, error } => {
                if self.refused.len() == REFUSED {
                    self.refused.pop_front();
                }
                self.refused.push_back(id);
                Some(Err(error))
            }
        }
    }
}

impl<S, D: Runs<S>> Incoming<S, D> {
    /// Where the server listens, with the port that the system chose.
    pub fn local_addr(&self) -> Addr {
        self.server.listener.local_addr()
    }

    /// How many messages from unknown addresses were dropped because they were no offers.
    pub fn dropped(&self) -> u64 {
        self.server.dropped.load(Ordering::Relaxed)
    }
}

impl<S, D> Server<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    fn terms(&self, confirm: Option<u64>) -> Terms {
        Terms { idle_timeout: self.settings.idle_timeout, confirm }
    }

    /// Deals with a new base connection.
    async fn meet(self: Arc<Self>, base: D::Connection) -> Outcome<D::Out> {
        let limit = self.settings.handshake_timeout;
        let what = "the client connected and sent no offer";
        match within(base.base().runtime(), limit, what, base.recv()).await {
            Ok(first) => self.greet(Arc::new(base), first).await,
            Err(error) => Outcome::Failed(error),
        }
    }

    /// Deals with the first message on a base connection, or with an offer that was confirmed and replaces another
    /// connection; that client has its answer already, and gets it once more.
    async fn greet(self: Arc<Self>, base: Arc<D::Connection>, message: Buf) -> Outcome<D::Out> {
        match decide(&message, &self.nodes, &self.terms(None)) {
            Decision::Ignore => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                Outcome::Nothing
            }
            Decision::Unknown { reply } => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                reply_with(&*base, &reply).await;
                Outcome::Nothing
            }
            Decision::Refuse { id, reply, error } => {
                reply_with(&*base, &reply).await;
                Outcome::Refused { id, error }
            }
            Decision::Accept { id, reply, answer } => {
                reply_with(&*base, &reply).await;
                match self.accept(base, id, reply, answer).await {
                    Ok(connection) => Outcome::Accepted(connection),
                    Err(error) => Outcome::Failed(error),
                }
            }
        }
    }

    /// Answers an offer on a base connection that is in use, and asks the client to confirm.
    async fn reoffered(
        self: Arc<Self>,
        base: Arc<D::Connection>,
        offer: Buf,
        number: u64,
    ) -> Outcome<D::Out> {
        match decide(&offer, &self.nodes, &self.terms(Some(number))) {
            Decision::Accept { reply, .. } | Decision::Unknown { reply } => reply_with(&*base, &reply).await,
            Decision::Refuse { id, reply, error } => {
                reply_with(&*base, &reply).await;
                return Outcome::Refused { id, error };
            }
            Decision::Ignore => {}
        }
        Outcome::Nothing
    }

    /// Builds the stack. The answer is on its way, since a Chunnel may have to talk to its counterpart to start.
    async fn accept(
        &self,
        base: Arc<D::Connection>,
        id: u64,
        reply: Vec<u8>,
        answer: Answer,
    ) -> Result<Negotiated<D::Out>, Error> {
        let runtime = base.base().runtime().clone();
        let listener = Some(self.to_listener.clone());
        let mut settings = self.settings.clone();
        settings.idle_timeout = agreed_idle_timeout(settings.idle_timeout, answer.idle_ms);
        let link = Link::new(Start {
            base,
            id,
            role: Role::Server,
            early: VecDeque::new(),
            answer: reply,
            listener,
            settings,
        });
        let (dropped, setup) = (link.dropped(), link.setup());
        let picks = answer.server_picks.clone();
        let reach = Reach { datapath: &self.datapath, settings: &self.settings };
        let more = More::new(&reach, Role::Server);
        let built = D::instantiate(&self.stack, link, Picks::new(&picks), more);
        let what = "a Chunnel did not get ready in time";
        match within(&runtime, self.settings.handshake_timeout, what, built).await {
            Ok(connection) => {
                setup.done();
                let agreement = Agreement::new(Role::Server, &self.nodes, answer);
                tracing::debug!(%agreement, peer = %connection.base().peer_addr(), "accepted");
                Ok(Negotiated::new(connection, agreement, dropped))
            }
            Err(error) => {
                setup.failed(&error).await;
                Err(error)
            }
        }
    }
}

/// Sends a handshake message. A failure is not reported: the client repeats its offer.
async fn reply_with<C: Connection<Data = Buf>>(base: &C, reply: &[u8]) {
    if let Ok(message) = Buf::copy_of(reply, 0) {
        let _ = base.send(message).await;
    }
}

impl<S, D: Runs<S>> fmt::Debug for Incoming<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("addr", &self.local_addr())
            .field("handshakes", &self.handshakes.len())
            .finish_non_exhaustive()
    }
}
