//! Listening: the builder that [`Negotiate::listen`](crate::Negotiate::listen) returns, and the clients that come.

mod admission;
mod confirmation;
mod handshakes;
mod server;

use crate::handshake::{Credit, Requirements, check_possible};
use crate::link::FromLink;
use crate::reach::Reach;
use crate::{Negotiated, Runs, Settings};
use bertha_core::{Addr, BoxFuture, Datapath, Describe, Destination, Error, Listener, Properties, Role};
use futures_util::future::FutureExt;
use futures_util::stream::unfold;
use futures_util::{Stream, select_biased};
use handshakes::{Beginning, Handshakes, Place};
use server::{Entering, Outcome, Server, offer_timeout};
use std::collections::VecDeque;
use std::fmt;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;

/// The number of refused connection ids that are remembered, so that a repeated offer is not reported twice.
const REFUSED: usize = 64;

/// A server to be started. Awaiting it starts to listen; until then it can be given other settings.
#[must_use = "it listens once it is awaited"]
pub struct Listen<S, D> {
    stack: S,
    datapath: D,
    on: Reach,
    settings: Settings,
}

impl<S, D> Listen<S, D> {
    pub(crate) fn new(stack: S, datapath: D, on: Destination) -> Self {
        let on = Reach { to: on, resolver: None };
        Self { stack, datapath, on, settings: Settings::default() }
    }

    /// Sets other times, bounds, credentials or a floor than the [defaults](Settings).
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }
}

/// # Errors
/// [`Invalid`](bertha_core::ErrorKind::Invalid) if no alternative of the stack can hold over this datapath, as far as
/// that is known [before a client is there](bertha_core::Listener::properties); else each client gets that error.
/// Those of the datapath, if the address can't be used. For a name those of [`Connect`](crate::Connect) as well, which come with the resolution.
impl<S, D> IntoFuture for Listen<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S>,
{
    type Output = Result<Incoming<S, D>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { stack, datapath, on, settings } = self;
        Box::pin(listen(stack, datapath, on, settings))
    }
}

impl<S: Describe, D> fmt::Debug for Listen<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listen([{}] on {})", self.stack.explain(), self.on)
    }
}

/// Starts to serve.
async fn listen<S, D>(stack: S, datapath: D, on: Reach, settings: Settings) -> Result<Incoming<S, D>, Error>
where
    S: Describe,
    D: Runs<S>,
{
    settings.credentials.check(Role::Server)?;
    let settings = Arc::new(settings);
    let nodes = stack.nodes();
    let listener = on.first(&datapath, settings.handshake_timeout, |addr, _| datapath.listen(addr)).await?;
    // Properties that are unknown before there is a client are checked then; no datapath promises more than a stream.
    let requirements = Requirements::new(settings.floor, listener.properties().unwrap_or(Properties::STREAM));
    check_possible(&nodes, requirements)?;
    let (to_listener, from_links) = mpsc::channel(settings.concurrent_handshakes.max(1));
    tracing::debug!(stack = %stack.explain(), addr = %listener.local_addr(), "listening");
    let server = Arc::new(Server::new((stack, nodes), (datapath, listener), settings, to_listener));
    let stages = Stages::new(&server.settings);
    Ok(Incoming { server, from_links, stages, refused: VecDeque::new(), is_closed: false })
}

/// The clients of a server: each item is a connection, or the error that kept one client from getting one.
///
/// Handshakes make progress while [`next`](Self::next) is awaited; with inline demultiplexing, so do the connections of the same
/// listener. Further clients are always accepted: of those that are not done, a
/// [bounded number](Settings::concurrent_handshakes) is held, and others are given up for them.
pub struct Incoming<S, D: Runs<S>> {
    server: Arc<Server<S, D>>,
    from_links: mpsc::Receiver<FromLink<D::Connection>>,
    stages: Stages<OutcomeOf<S, D>>,
    refused: VecDeque<u64>,
    is_closed: bool,
}

type OutcomeOf<S, D> = Outcome<<D as Datapath>::Connection, <D as Runs<S>>::Out>;

/// The handshakes that wait for something, by stage, so that none keeps another kind from its place.
struct Stages<T> {
    /// Streams that have not made their offer.
    silent: Handshakes<T>,
    /// Clients that may not have the addresses that they name, and have to confirm.
    unproven: Handshakes<T>,
    /// Others that have to confirm.
    unconfirmed: Handshakes<T>,
    /// Clients whose stack is being built.
    entering: Handshakes<T>,
}

impl<T: 'static> Stages<T> {
    fn new(settings: &Settings) -> Self {
        let most = settings.concurrent_handshakes;
        Self {
            silent: Handshakes::new(most, Duration::ZERO),
            unproven: Handshakes::new(settings.unproven_clients.min(most), Duration::ZERO),
            unconfirmed: Handshakes::new(most, Duration::ZERO),
            entering: Handshakes::new(most, offer_timeout(settings)),
        }
    }

    fn all(&mut self) -> [&mut Handshakes<T>; 4] {
        [&mut self.entering, &mut self.unconfirmed, &mut self.unproven, &mut self.silent]
    }

    fn are_empty(&mut self) -> bool {
        self.all().into_iter().all(|stage| stage.len() == 0)
    }

    /// The result of a stage of a handshake.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        self.all().into_iter().map(|stage| stage.poll_next(cx)).find(Poll::is_ready).unwrap_or(Poll::Pending)
    }
}

impl<S, D> Incoming<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    /// Waits for the next client. One bad client is an item of its own and does not end the loop; nothing after the
    /// last item but `None`, when the datapath's listener has failed for good, or after [`close`](Self::close). Cancellation-safe.
    pub async fn next(&mut self) -> Option<Result<Negotiated<D::Out>, Error>> {
        loop {
            if self.is_closed && self.stages.are_empty() {
                return None;
            }
            let server = self.server.clone();
            let is_closed = self.is_closed;
            let accept = async {
                if is_closed {
                    // New clients are not heard any more.
                    pending::<()>().await;
                }
                server.listener.accept().await
            };
            let mut accept = pin!(accept.fuse());
            let stages = &mut self.stages;
            let outcome = select_biased! {
                outcome = poll_fn(|cx| stages.poll_next(cx)).fuse() => outcome,
                from_link = self.from_links.recv().fuse() => match from_link {
                    Some(FromLink::Offered { base, offer, fresh, slot }) => {
                        let beginning = Beginning::on(&*base);
                        let reoffered = Box::pin(self.server.clone().reoffered(base, offer, fresh, slot));
                        self.begin(beginning, reoffered, |stages| &mut stages.silent).await
                    }
                    Some(FromLink::Confirms { confirm, slot }) => {
                        slot.confirm(&confirm);
                        Outcome::Nothing
                    }
                    Some(FromLink::Confirmed { base, accepted, overtaken }) => {
                        Outcome::Entering(Entering::confirmed(base, accepted, overtaken))
                    }
                    None => continue,
                },
                accepted = accept => match accepted {
                    Ok(base) => {
                        let beginning = Beginning::on(&base);
                        let meeting = Box::pin(self.server.clone().meet(Arc::new(base)));
                        self.begin(beginning, meeting, |stages| &mut stages.silent).await
                    }
                    Err(error) => {
                        tracing::error!(%error, "the listener has failed");
                        return None;
                    }
                },
            };
            if let Some(item) = self.advance(outcome).await {
                return Some(item);
            }
        }
    }

    /// Begins the stages that follow, and gives the item for the application, if there is one now.
    async fn advance(&mut self, mut outcome: OutcomeOf<S, D>) -> Option<Result<Negotiated<D::Out>, Error>> {
        loop {
            outcome = match outcome {
                Outcome::Unconfirmed(client) => {
                    let (beginning, is_proven) =
                        (Beginning::on(&*client.base), client.credit == Credit::UNLIMITED);
                    let confirming = Box::pin(self.server.clone().confirm(client));
                    self.begin(beginning, confirming, |stages| match is_proven {
                        true => &mut stages.unconfirmed,
                        false => &mut stages.unproven,
                    })
                    .await
                }
                Outcome::Entering(client) => {
                    let beginning = Beginning::on(&*client.base);
                    let entering = Box::pin(self.server.clone().enter(client));
                    self.begin(beginning, entering, |stages| &mut stages.entering).await
                }
                outcome => return self.report(outcome),
            };
        }
    }

    /// Begins a stage. Most are over at once, since the message is there, and need no place among those that wait.
    async fn begin(
        &mut self,
        beginning: Beginning,
        mut handshake: BoxFuture<'static, OutcomeOf<S, D>>,
        stage: impl FnOnce(&mut Stages<OutcomeOf<S, D>>) -> &mut Handshakes<OutcomeOf<S, D>>,
    ) -> OutcomeOf<S, D> {
        if let Poll::Ready(outcome) = poll_fn(|cx| Poll::Ready(handshake.as_mut().poll(cx))).await {
            return outcome;
        }
        if stage(&mut self.stages).push(beginning, handshake) != Place::Free {
            self.server.count_dropped();
        }
        Outcome::Nothing
    }

    fn report(&mut self, outcome: OutcomeOf<S, D>) -> Option<Result<Negotiated<D::Out>, Error>> {
        match outcome {
            Outcome::Accepted(connection) => Some(Ok(connection)),
            Outcome::Failed(error) => Some(Err(error)),
            Outcome::Nothing | Outcome::Unconfirmed(_) | Outcome::Entering(_) => None,
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

impl<S, D> Incoming<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    /// The clients as a stream, which ends where [`next`](Self::next) returns `None`.
    ///
    /// It is for a task that does nothing else. Between polls a stream keeps the accept that it has begun, and over datagrams with inline
    /// demultiplexing no connection of this listener receives while that accept is not polled. [`next`](Self::next) gives it up when it is
    /// dropped, which is why this type is not a stream itself.
    ///
    /// ```
    /// # use bertha_core::Error;
    /// # use bertha_negotiation::{Incoming, Runs};
    /// use futures_util::StreamExt;
    /// # async fn example<S: Send + Sync + 'static, D: Runs<S>>(incoming: Incoming<S, D>) {
    /// let at_most_ten = incoming.into_stream().take(10);
    /// # let _ = at_most_ten;
    /// # }
    /// ```
    pub fn into_stream(self) -> impl Stream<Item = Result<Negotiated<D::Out>, Error>> + Send {
        unfold(self, |mut incoming| async move {
            let client = incoming.next().await?;
            Some((client, incoming))
        })
    }
}

impl<S, D: Runs<S>> Incoming<S, D> {
    /// Accepts no further clients. [`next`](Self::next) still gives those whose handshakes are under way, and then `None`. Connections
    /// live on; the address becomes free once this value and, over datagrams, the last of them is dropped.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Where the server listens, with the port that the system chose.
    pub fn local_addr(&self) -> Addr {
        self.server.listener.local_addr()
    }

    /// The number of messages from unknown addresses that were dropped because they were no offers, or too many.
    pub fn dropped(&self) -> u64 {
        self.server.dropped()
    }
}

impl<S, D: Runs<S>> fmt::Debug for Incoming<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("addr", &self.local_addr())
            .field("silent", &self.stages.silent.len())
            .field("unproven", &self.stages.unproven.len())
            .field("unconfirmed", &self.stages.unconfirmed.len())
            .field("entering", &self.stages.entering.len())
            .finish_non_exhaustive()
    }
}
