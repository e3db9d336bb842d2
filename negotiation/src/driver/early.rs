//! The client that sends its first messages with its offer.

use super::connect::agree;
use super::deadline::within;
use super::open::Reach;
use crate::agreement::binding;
use crate::early::{Early, Shared};
use crate::early_cache::Key;
use crate::link::{Opened, Start};
use crate::proto::{
    Choices, Expected, FirstFlight, Frame, Handshake, Proposal, agreed_idle_timeout, check_layers,
    check_picks, check_possible, takes_early_data,
};
use crate::wire::Answer;
use crate::{Agreement, EarlyCache, Link, Runs, Session, Settings, ZeroRtt};
use bertha_core::{
    Addr, Base, Connection, Datapath, Describe, Error, More, Node, Picks, Role, Runtime, resolve,
};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What it takes to build a stack, and to remember what was agreed.
struct Client<S, D> {
    stack: S,
    reach: Reach<D>,
    nodes: Vec<Node>,
    choices: Choices,
    frame: Frame,
    cache: EarlyCache,
    key: Option<Key>,
}

/// A stack over a link, and the count of what the link dropped.
type Built<C> = (C, Arc<AtomicU64>);

/// What the server is expected to agree to.
struct Hope {
    expected: Expected,
    /// The picks of the whole stack, and the layers that they leave.
    picks: Vec<u8>,
    layers: Vec<Node>,
}

/// Connects over the stack that the server agreed to the last time, if it did.
pub(crate) async fn connect_early<S, D>(
    stack: S,
    datapath: D,
    to: Addr,
    cache: &EarlyCache,
    settings: Settings,
) -> Result<Early<D::Out>, Error>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data: Clone>>,
{
    let base = datapath.connect(to.clone()).await?;
    let nodes = stack.nodes();
    let frame = Frame::new(settings.floor, base.base().properties());
    check_possible(&nodes, frame)?;
    let proposal = Proposal::new(&nodes, frame)?;
    let (key, choices) = (cache.key(to, &proposal.offer), proposal.choices.clone());
    let reach = Reach { datapath, settings: Arc::new(settings) };
    // Boxed, since it is handed on a few times.
    let client = Box::new(Client { stack, reach, nodes, choices, frame, cache: cache.clone(), key });
    match client.hope() {
        Ok(hope) => client.connect_at_once(base, proposal, hope).await,
        // Boxed, here and below, so that the usual way carries no room for what is rare.
        Err(why) => Box::pin(client.connect_after_answer(base, why)).await,
    }
}

impl<S, D> Client<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data: Clone>>,
{
    /// What the server is expected to answer, or why it has to answer first.
    fn hope(&self) -> Result<Hope, &'static str> {
        if !self.reach.settings.credentials.can_send_early() {
            return Err("without a shared key nothing shows where early messages come from");
        }
        let key = self.key.as_ref().ok_or("the stack has no digest")?;
        let expected = self.cache.find(key).ok_or("no agreement with this server is known")?;
        if expected.client_picks.len() != self.choices.left() {
            return Err("the agreement that is known is of another stack");
        }
        let picks = self.choices.expand(&expected.client_picks);
        let layers = resolve(&self.nodes, Picks::new(&picks));
        check_layers(&layers, self.frame)
            .map_err(|_| "the known agreement is below the floor, or can't hold over this datapath")?;
        match takes_early_data(&layers) {
            true => Ok(Hope { expected, picks, layers }),
            false => Err("a Chunnel of the stack takes no early data"),
        }
    }

    fn remember(&self, answer: &Answer) {
        if let Some(key) = &self.key {
            let client_picks = self.choices.contract(&answer.client_picks);
            let (server_picks, idle_ms) = (answer.server_picks.clone(), answer.idle_ms);
            self.cache.remember(key, Expected { client_picks, server_picks, idle_ms });
        }
    }

    fn agreement(&self, answer: Answer, session: Arc<Session>, zero_rtt: ZeroRtt) -> Agreement {
        let agreement = Agreement::new(Role::Client, &self.nodes, answer, session).with(Some(zero_rtt));
        tracing::debug!(%agreement, "connected");
        agreement
    }

    /// Before the server has answered there is no session.
    async fn build(
        &self,
        link: Link<<D as Datapath>::Connection>,
        picks: &[u8],
        session: Option<&Session>,
    ) -> Result<Built<D::Out>, Error> {
        let (dropped, setup) = (link.dropped(), link.setup());
        let picks = Picks::new(picks);
        let transcript = session.and_then(|session| binding(&resolve(&self.nodes, picks), session));
        let more = More::new(&self.reach, Role::Client).with_transcript(transcript);
        match D::instantiate(&self.stack, link, picks, more).await {
            Ok(connection) => {
                setup.done();
                Ok((connection, dropped))
            }
            Err(error) => {
                setup.failed(&error).await;
                Err(error)
            }
        }
    }

    /// As a client without a cache.
    async fn connect_after_answer(
        self: Box<Self>,
        base: D::Connection,
        why: &'static str,
    ) -> Result<Early<D::Out>, Error> {
        let (link, answer, session) = agree(base, &self.nodes, &self.reach.settings).await?;
        self.remember(&answer);
        let (connection, dropped) = self.build(link, &answer.client_picks, Some(&session)).await?;
        let shared = Shared::new(connection, 0);
        shared.explained(self.agreement(answer, session, ZeroRtt::NotTried(why)), dropped);
        shared.agreed();
        Ok(Early::new(Arc::new(shared), None))
    }

    /// Builds the stack that is expected. It can be used when that is done, answer or not; if the answer comes first, all is
    /// known.
    async fn connect_at_once(
        self: Box<Self>,
        base: D::Connection,
        proposal: Proposal,
        Hope { expected, picks, layers }: Hope,
    ) -> Result<Early<D::Out>, Error> {
        let runtime = base.base().runtime().clone();
        let (mtu, now) = (base.base().mtu(), runtime.now());
        let handshake = Handshake::proposing(proposal, || runtime.random(), mtu, now, &self.reach.settings)?;
        let (most, delay) = (self.reach.settings.first_flight, self.reach.settings.first_flight_delay);
        let idle_timeout = agreed_idle_timeout(self.reach.settings.idle_timeout, expected.idle_ms);
        let flight = FirstFlight::new(handshake, expected, mtu, most, delay, now);
        let (link, opener) = Link::opening(base, flight, self.reach.settings.clone(), idle_timeout);
        let watching = opener.watch();
        let mut opening = Box::pin(opener.run());
        let opened = {
            let building = pin!(self.build(link, &picks, None));
            match select(building, &mut opening).await {
                Either::Left((built, _)) => Either::Left(built),
                Either::Right((opened, building)) => match opened? {
                    Opened { answer, session, replaced: None, link } => {
                        link.open();
                        Either::Right((building.await, answer, session, None))
                    }
                    // A Chunnel that talks while it is built waits in vain over the stack that was expected.
                    Opened { answer, session, replaced, .. } => {
                        Either::Right((Err(crate::link::gone()), answer, session, replaced))
                    }
                },
            }
        };
        let (built, answer, session, replaced) = match opened {
            Either::Left(Ok((first, dropped))) => {
                let shared = Arc::new(Shared::new(first, most));
                let task = shared.spawn(self.settle(shared.clone(), (layers, dropped), opening, watching));
                return Ok(Early::new(shared, Some(task)));
            }
            Either::Left(Err(error)) => {
                // It fails over this stack; or the server has just picked another one.
                let Opened { answer, session, replaced, .. } = opening.await?;
                (Err(error), answer, session, replaced)
            }
            Either::Right(all) => all,
        };
        self.remember(&answer);
        let (connection, dropped, zero_rtt) = match replaced {
            Some(start) => {
                let (connection, dropped) = Box::pin(self.rebuild(start, &answer)).await?;
                (connection, dropped, ZeroRtt::Resent(0))
            }
            None => {
                let (connection, dropped) = built?;
                (connection, dropped, of_kept(&answer))
            }
        };
        let shared = Shared::new(connection, 0);
        shared.explained(self.agreement(answer, session, zero_rtt), dropped);
        shared.agreed();
        // Of a link that was replaced it soon finds out.
        let task = shared.spawn(watching);
        Ok(Early::new(Arc::new(shared), Some(task)))
    }

    /// The stack that the server has picked, in the place of another.
    async fn rebuild(
        &self,
        start: Box<Start<D::Connection>>,
        answer: &Answer,
    ) -> Result<Built<D::Out>, Error> {
        let session = start.session.clone();
        let link = Link::new(*start);
        if let Err(error) = check_picks(&self.nodes, &answer.client_picks, self.frame) {
            link.setup().failed(&error).await;
            return Err(error);
        }
        link.confirm().await;
        self.build(link, &answer.client_picks, Some(&session)).await
    }

    /// Waits for the answer while the connection is in use, and does what it asks for; then watches over the link.
    async fn settle(
        self: Box<Self>,
        shared: Arc<Shared<D::Out>>,
        (layers, dropped): (Vec<Node>, Arc<AtomicU64>),
        opening: impl Future<Output = Result<Opened<D::Connection>, Error>> + Send,
        watching: impl Future<Output = ()> + Send,
    ) {
        let Opened { answer, session, replaced, link } = match opening.await {
            Ok(opened) => opened,
            Err(error) => return shared.failed(&error),
        };
        self.remember(&answer);
        if let Some(start) = replaced {
            return Box::pin(self.resettle(shared, start, answer, session)).await;
        }
        // Whoever receives a message finds out how it came to be.
        let zero_rtt = Some(of_kept(&answer));
        let agreement = Agreement::over(layers, Role::Client, answer, session).with(zero_rtt);
        tracing::debug!(%agreement, "connected");
        shared.explained(agreement, dropped);
        link.open();
        shared.agreed();
        // Nothing of it is kept as long as the connection.
        drop((self, shared, link));
        watching.await;
    }

    /// Goes over to the stack that the server has picked.
    async fn resettle(
        self: Box<Self>,
        shared: Arc<Shared<D::Out>>,
        start: Box<Start<D::Connection>>,
        answer: Answer,
        session: Arc<Session>,
    ) {
        let runtime = start.base.base().runtime().clone();
        let what = "the stack that the server picked did not get ready in time";
        let rebuilt = self.rebuild(start, &answer);
        match within(&runtime, self.reach.settings.handshake_timeout, what, rebuilt).await {
            Ok((second, dropped)) => {
                let agreement = |count| self.agreement(answer, session, ZeroRtt::Resent(count));
                shared.replace(second, dropped, agreement).await;
            }
            Err(error) => shared.failed(&error),
        }
    }
}

/// What became of the first flight if the stack stays.
fn of_kept(answer: &Answer) -> ZeroRtt {
    match answer.early {
        0 => ZeroRtt::NotTaken,
        count => ZeroRtt::Taken(count.into()),
    }
}
