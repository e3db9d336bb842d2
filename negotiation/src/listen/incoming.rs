//! The clients of a server.

use super::outcome::{Entering, Outcome};
use super::overload::Lack;
use super::progress::Progress;
use super::server::{LARGEST_FIRST, Server};
use super::stages::{Handshake, Kind, Stages};
use super::{IncomingStatistics, Overload};
use crate::handshake::AmplificationLimit;
use crate::link::FromLink;
use crate::{Negotiated, Runs};
use bertha_core::{
    Addr, Base, BoxFuture, Connection, Datapath, Error, ErrorKind, Listener, Network, Runtime,
};
use futures_util::future::FutureExt;
use futures_util::stream::unfold;
use futures_util::{Stream, select_biased};
use std::collections::VecDeque;
use std::fmt;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Maximum number of refused connection ids that are remembered, so that a repeated offer is not reported
/// twice.
const REFUSED: usize = 64;

/// Time after which accepting is tried again once descriptors or memory have run out.
const PAUSE: Duration = Duration::from_millis(5);

/// The clients of a server.
///
/// ```
/// # use bertha_core::{Connection, Error};
/// # use bertha_negotiation::{Incoming, Runs};
/// # async fn serve(_: impl Connection) {}
/// # async fn example<S: Send + Sync + 'static, D: Runs<S>>(mut incoming: Incoming<S, D>) {
/// while let Some(client) = incoming.next().await {
///     tokio::spawn(serve(client));
/// }
/// # }
/// ```
///
/// The loop goes on past a client that is refused or gives up: an event of the target `bertha::negotiation` and
/// [`statistics`](Self::statistics) report the client, and [`next_or_refusal`](Self::next_or_refusal) returns the
/// error as an item.
///
/// Handshakes run in tasks of their own, and go from one stage to the next while [`next`](Self::next) is
/// awaited. A [bounded number](crate::Settings::concurrent_handshakes) of them is held. While all handshakes
/// make progress, further streams wait in the backlog of the datapath. A handshake that waits for its peer
/// longer than finished handshakes needed is given up for a newcomer. Over datagrams, clients are always
/// heard, and take the places of handshakes that have waited longest. [`overload`](Self::overload) counts the
/// clients that were given up.
pub struct Incoming<S, D: Runs<S>> {
    server: Arc<Server<S, D>>,
    from_links: mpsc::Receiver<FromLink<D::Connection>>,
    stages: Stages<D::Connection, OutcomeOf<S, D>>,
    /// A stream that was accepted and has no place yet.
    newcomer: Option<Arc<D::Connection>>,
    /// The runtime, which is known at the latest once there was a client.
    runtime: Option<RuntimeOf<D>>,
    /// Time until which no client is accepted, since descriptors or memory had run out.
    paused_until: Option<Instant>,
    refused: VecDeque<u64>,
    is_closed: bool,
}

type OutcomeOf<S, D> = Outcome<<D as Datapath>::Connection, <D as Runs<S>>::Out>;

type RuntimeOf<D> = <<<D as Datapath>::Connection as Connection>::Base as Base>::Runtime;

impl<S, D> Incoming<S, D>
where
    D: Runs<S>,
{
    pub(super) fn new(
        server: Arc<Server<S, D>>,
        from_links: mpsc::Receiver<FromLink<D::Connection>>,
    ) -> Self {
        let stages = Stages::new(&server.settings, server.listener.capacity());
        let runtime = server.runtime();
        Self {
            server,
            from_links,
            stages,
            newcomer: None,
            runtime,
            paused_until: None,
            refused: VecDeque::new(),
            is_closed: false,
        }
    }
}

impl<S, D> Incoming<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    /// Waits for the next client that has got a connection. Returns `None` after the last client, when the
    /// datapath's listener has failed for good, or after [`close`](Self::close). Cancellation-safe.
    pub async fn next(&mut self) -> Option<Negotiated<D::Out>> {
        loop {
            if let Ok(client) = self.next_or_refusal().await? {
                return Some(client);
            }
        }
    }

    /// Works as [`next`](Self::next), and also returns the error of each client that has got no connection: a
    /// server that answers refusals itself, or a test, looks at it. An error does not end the loop.
    pub async fn next_or_refusal(&mut self) -> Option<Result<Negotiated<D::Out>, Error>> {
        loop {
            if self.is_closed {
                self.newcomer = None;
                if self.stages.len() == [0, 0] {
                    return None;
                }
            }
            let outcome = match self.take_turn() {
                Turn::Of(base) => self.meet(base).await,
                Turn::Waits(until) => {
                    let event = self.wait(until).await;
                    self.deal_with(event).await?
                }
            };
            if let Some(item) = self.advance(outcome).await {
                return Some(item);
            }
        }
    }

    /// Decides about the next step of the listener.
    fn take_turn(&mut self) -> Turn<D::Connection> {
        self.server.clients.set_handshakes(self.stages.len()[0]);
        if let Some(base) = self.newcomer.take() {
            let now = base.base().runtime().now();
            let network = Network::of(&base.base().peer_addr());
            return match self.stages.make_room(network, now, &self.server.overload) {
                Ok(()) => Turn::Of(base),
                Err(until) => {
                    self.newcomer = Some(base);
                    Turn::Waits(Some(until))
                }
            };
        }
        let is_due =
            |until: &mut Instant| self.runtime.as_ref().is_none_or(|runtime| runtime.now() >= *until);
        self.paused_until.take_if(is_due);
        Turn::Waits(self.paused_until)
    }

    /// Waits for an event. With `until`, waits no longer than that and takes no new client.
    /// Cancellation-safe.
    async fn wait(&mut self, until: Option<Instant>) -> EventOf<S, D> {
        let accept = async {
            match until.is_none() && !self.is_closed {
                true => self.server.listener.accept().await,
                false => pending().await,
            }
        };
        let wait = async {
            match (until, &self.runtime) {
                (Some(until), Some(runtime)) => runtime.sleep_until(until).await,
                _ => pending().await,
            }
        };
        let now = || self.runtime.as_ref().map(Runtime::now);
        let ended = self.stages.next(now, Outcome::is_good, Outcome::is_ready, &self.server.overload);
        let ended = pin!(ended.fuse());
        let wait = pin!(wait.fuse());
        let accept = pin!(accept.fuse());
        let mut ended = ended;
        let mut wait = wait;
        let mut accept = accept;
        select_biased! {
            outcome = ended => outcome.map_or(Event::Due, Event::Ended),
            from_link = self.from_links.recv().fuse() => from_link.map_or(Event::Due, Event::Said),
            () = wait => Event::Due,
            accepted = accept => Event::Accepted(accepted),
        }
    }

    /// Handles an event. Returns `None` if the listener has failed for good.
    async fn deal_with(&mut self, event: EventOf<S, D>) -> Option<OutcomeOf<S, D>> {
        Some(match event {
            Event::Ended(outcome) => outcome,
            Event::Due => Outcome::Nothing,
            Event::Said(FromLink::Offered { base, offer, fresh, slot }) => {
                let reoffered = Box::pin(self.server.clone().reoffered(base.clone(), offer, fresh, slot));
                let progress = begun(&*base);
                self.begin(Kind::Proven, base, progress, reoffered).await
            }
            Event::Said(FromLink::Confirms { confirm, slot }) => {
                slot.confirm(&confirm);
                Outcome::Nothing
            }
            Event::Said(FromLink::Confirmed { base, accepted, overtaken }) => {
                Outcome::Entering(Entering::confirmed(base, accepted, overtaken))
            }
            Event::Accepted(Ok(base)) => self.accepted(Arc::new(base)).await,
            Event::Accepted(Err(error)) if error.kind() == ErrorKind::Exhausted => {
                self.exhausted(&error);
                Outcome::Nothing
            }
            Event::Accepted(Err(error)) => {
                tracing::error!(target: "bertha::negotiation", %error, "the listener has failed");
                return None;
            }
        })
    }

    /// Handles a new client, at once or when it is its turn.
    async fn accepted(&mut self, base: Arc<D::Connection>) -> OutcomeOf<S, D> {
        if self.runtime.is_none() {
            self.runtime = Some(base.base().runtime().clone());
        }
        if !base.base().properties().reliable {
            return self.meet(base).await;
        }
        base.base().limit_received(LARGEST_FIRST);
        self.newcomer = Some(base);
        Outcome::Nothing
    }

    async fn meet(&mut self, base: Arc<D::Connection>) -> OutcomeOf<S, D> {
        let progress = begun(&*base);
        let meeting = Box::pin(self.server.clone().meet(base.clone(), progress.clone()));
        self.begin(Kind::Proven, base, progress, meeting).await
    }

    /// Handles that descriptors or memory have run out: the handshakes and connections that have waited
    /// longest make room, and accepting pauses.
    fn exhausted(&mut self, error: &Error) {
        let Some(runtime) = &self.runtime else { return };
        let now = runtime.now();
        tracing::debug!(target: "bertha::negotiation", %error, "accepting pauses");
        self.server.overload.count(Lack::Exhausted, None, now);
        self.paused_until = Some(now + PAUSE);
        if !self.stages.shed(now, &self.server.overload)
            && let Some(unused) = self.server.connections.take_unused(now)
        {
            self.server.evict(&*unused, now);
        }
    }

    /// Begins the next stages, and returns the item for the application, if there is an item.
    async fn advance(&mut self, mut outcome: OutcomeOf<S, D>) -> Option<Result<Negotiated<D::Out>, Error>> {
        loop {
            outcome = match outcome {
                Outcome::Unconfirmed(client) => {
                    let is_proven = client.amplification_limit == AmplificationLimit::UNLIMITED;
                    let kind = if is_proven { Kind::Proven } else { Kind::Unvalidated };
                    let base = client.base.clone();
                    let progress = begun(&*base);
                    let confirming = Box::pin(self.server.clone().confirm(client, progress.clone()));
                    self.begin(kind, base, progress, confirming).await
                }
                Outcome::Entering(client) => {
                    let base = client.base.clone();
                    let progress = begun(&*base);
                    let entering = Box::pin(self.server.clone().enter(client, progress.clone()));
                    self.begin(Kind::Proven, base, progress, entering).await
                }
                outcome => return self.report(outcome),
            };
        }
    }

    /// Begins a stage. Most stages end at once, since their message is there, and need neither a task nor a
    /// place.
    async fn begin(
        &mut self,
        kind: Kind,
        base: Arc<D::Connection>,
        progress: Progress,
        stage: BoxFuture<'static, OutcomeOf<S, D>>,
    ) -> OutcomeOf<S, D> {
        let mut handshake = Handshake::new(stage);
        if let Poll::Ready(outcome) = poll_fn(|cx| Poll::Ready(handshake.poll_unpin(cx))).await {
            return outcome;
        }
        self.stages.begin(kind, base, progress, handshake, &self.server.overload);
        Outcome::Nothing
    }

    fn report(&mut self, outcome: OutcomeOf<S, D>) -> Option<Result<Negotiated<D::Out>, Error>> {
        let error = match outcome {
            Outcome::Accepted(connection) => {
                self.server.clients.accepted();
                return Some(Ok(connection));
            }
            Outcome::Nothing | Outcome::Followed | Outcome::Unconfirmed(_) | Outcome::Entering(_) => {
                return None;
            }
            Outcome::Refused { id, .. } if self.refused.contains(&id) => return None,
            Outcome::Failed(error) => error,
            Outcome::Refused { id, error } => {
                if self.refused.len() == REFUSED {
                    self.refused.pop_front();
                }
                self.refused.push_back(id);
                error
            }
        };
        self.server.clients.refused(&error, self.runtime.as_ref().map(Runtime::now));
        Some(Err(error))
    }
}

/// The next step of a listener.
enum Turn<C> {
    /// It handles this client, for which there is room.
    Of(Arc<C>),
    /// It accepts a client, but none until this time or the end of a handshake.
    Waits(Option<Instant>),
}

/// An event that a listener waits for.
enum Event<B, O> {
    /// A stage of a handshake has ended.
    Ended(O),
    /// A link has sent a message to the listener.
    Said(FromLink<B>),
    /// There may be room.
    Due,
    /// A client has arrived, or the listener has failed.
    Accepted(Result<B, Error>),
}

type EventOf<S, D> = Event<<D as Datapath>::Connection, OutcomeOf<S, D>>;

/// Returns the progress of a stage that begins now.
fn begun(base: &impl Connection) -> Progress {
    Progress::new(base.base().runtime().now())
}

impl<S, D> Incoming<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    /// The clients as a stream, which ends where [`next`](Self::next) returns `None`.
    ///
    /// It is for a task that does nothing else. Between polls a stream keeps the accept that it has begun,
    /// and over datagrams with inline demultiplexing no connection of this listener receives while that
    /// accept is not polled. [`next`](Self::next) gives it up when it is dropped, which is why this type is
    /// not a stream itself.
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
    pub fn into_stream(self) -> impl Stream<Item = Negotiated<D::Out>> + Send {
        unfold(self, |mut incoming| async move {
            let client = incoming.next().await?;
            Some((client, incoming))
        })
    }
}

impl<S, D: Runs<S>> Incoming<S, D> {
    /// Accepts no further clients. [`next`](Self::next) still returns the clients whose handshakes are under
    /// way, and then `None`. Connections live on. The address becomes free once this value and, over
    /// datagrams, the last connection is dropped.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Returns the address of the listener, with the port that the system chose.
    pub fn local_addr(&self) -> Addr {
        self.server.listener.local_addr()
    }

    /// Returns the numbers of accepted and refused clients so far, and the state of the server at this moment.
    pub fn statistics(&self) -> IncomingStatistics {
        self.server.statistics()
    }

    /// Returns the number of clients that were given up or refused for want of room.
    pub fn overload(&self) -> Overload {
        self.server.overload.get()
    }

    /// Returns a function that tells what [`overload`](Self::overload) does, also while a client is waited for. It keeps nothing open.
    pub fn overload_reader(&self) -> impl Fn() -> Overload + use<S, D> {
        let server = Arc::downgrade(&self.server);
        move || server.upgrade().map(|server| server.overload.get()).unwrap_or_default()
    }

    /// Returns the number of messages from unknown addresses that were dropped, since they were no offers or
    /// exceeded a rate.
    pub fn dropped(&self) -> u64 {
        self.server.dropped()
    }
}

impl<S, D: Runs<S>> fmt::Debug for Incoming<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [handshakes, unvalidated] = self.stages.len();
        f.debug_struct("Incoming")
            .field("addr", &self.local_addr())
            .field("handshakes", &handshakes)
            .field("unvalidated", &unvalidated)
            .finish_non_exhaustive()
    }
}
