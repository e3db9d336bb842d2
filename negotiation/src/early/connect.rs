//! The client that sends its first messages with its offer.

use super::answered::{PendingHandshake, zero_rtt};
use super::built::Built;
use super::client::Client;
use super::{Early, EarlyCache, EarlyState, HandshakeGuard};
use crate::handshake::{
    Claim, Expected, FirstFlight, Handshake, HeldTicket, Proposal, Requirements, agreed_idle_timeout,
    check_layers, check_possible, takes_early_data,
};
use crate::happy_eyeballs::HappyEyeballs;
use crate::link::{Answered, EarlyLink, LinkConnector, establish, given_up};
use crate::reached::reached;
use crate::wire::CLAIM;
use crate::{Agreement, Link, Runs, Settings, ZeroRtt};
use bertha_core::{Base, BoxFuture, Buf, Connection, Describe, Error, Node, Picks, Runtime, resolve};
use futures_util::future::{Either, select};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tracing::Span;

/// Maximum time for which a handshake has no task of its own, and the calls that wait for its end drive it.
/// It is long enough for most handshakes within a network, and too short for an application that does not
/// wait to notice.
const UNDRIVEN: Duration = Duration::from_millis(1);

/// The stage of connecting after a stack that was not ready at once has been built, or has failed.
enum Stage<C: Connection<Data = Buf>, O> {
    /// The server has not answered.
    AwaitingAnswer(Built<O>, BoxFuture<'static, Result<Answered<C>, Error>>),
    /// The server has answered. Boxed, so that the other stage carries no room for the answer.
    Answered(Result<Built<O>, Error>, Box<Answered<C>>),
}

/// The background task of an early connection, which runs the handshake if no call does, and then the
/// watchdog.
struct LinkTask<C: Connection<Data = Buf>> {
    /// Time at which the task starts.
    start: Instant,
    link: EarlyLink<C>,
}

/// The agreement expected of the server.
struct Expectation {
    expected: Expected,
    claim: [u8; CLAIM],
    ticket: HeldTicket,
    /// The picks of the whole stack.
    picks: Vec<u8>,
    /// The layers that the picks leave.
    layers: Vec<Node>,
}

/// Connects over the stack that the server agreed to the last time, if it did. The span ends with the
/// outcome.
///
/// # Errors
/// The errors of [`Connect::early`](crate::Connect::early).
pub(crate) async fn connect_early<S, D>(
    stack: S,
    datapath: D,
    to: HappyEyeballs,
    cache: &EarlyCache,
    settings: Settings,
    span: Span,
) -> Result<Early<D::Out>, Error>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data: Clone>>,
{
    let (base, to) = to
        .first(&datapath, settings.handshake_timeout, |addr, limit| {
            let datapath = &datapath;
            async move { Ok((reached(datapath, addr.clone(), limit).await?, addr)) }
        })
        .await?;
    let nodes = stack.nodes();
    let requirements = Requirements::new(settings.floor, base.base().properties());
    check_possible(&nodes, requirements)?;
    let proposal = Proposal::new(&nodes, requirements)?;
    let key = cache.key(to, &proposal.stack, &settings);
    let choices = proposal.choices.clone();
    let connector = Arc::new(LinkConnector { datapath, settings: Arc::new(settings) });
    // Boxed, since it is handed on a few times.
    let client =
        Box::new(Client { stack, connector, nodes, choices, requirements, cache: cache.clone(), key, span });
    match client.expectation() {
        Ok(expectation) => client.connect_at_once(base, proposal, expectation).await,
        Err(why) => Box::pin(client.connect_after_answer(base, why)).await,
    }
}

impl<S, D> Client<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data: Clone>>,
{
    /// Returns the answer that is expected of the server.
    ///
    /// # Errors
    /// The reason why the server has to answer first.
    fn expectation(&self) -> Result<Expectation, &'static str> {
        if !self.connector.settings.credentials.can_send_early() {
            return Err("without a shared key nothing shows where early messages come from");
        }
        let known = self.cache.find(&self.key);
        let (expected, claim, ticket) =
            known.ok_or("no agreement with this server is known by which it takes early data")?;
        if expected.client_picks.len() != self.choices.left() {
            return Err("the agreement that is known is of another stack");
        }
        let picks = self.choices.expand(&expected.client_picks);
        let layers = resolve(&self.nodes, Picks::new(&picks));
        check_layers(&layers, self.requirements)
            .map_err(|_| "the known agreement is below the floor, or can't hold over this datapath")?;
        match takes_early_data(&layers) {
            true => Ok(Expectation { expected, claim, ticket, picks, layers }),
            false => Err("a Chunnel of the stack takes no early data"),
        }
    }

    /// Connects as a client without a cache.
    async fn connect_after_answer(
        self: Box<Self>,
        base: D::Connection,
        why: &'static str,
    ) -> Result<Early<D::Out>, Error> {
        let (link, mut answer, session) = establish(base, &self.nodes, &self.connector.settings).await?;
        self.remember(&answer, link.base().runtime().now());
        let differing = std::mem::take(&mut answer.capabilities);
        let agreement = self.agreement(answer, session, ZeroRtt::NotTried(why));
        let shared = EarlyState::new(self.build(link, agreement, differing).await?, 0, self.span.clone());
        shared.agreed();
        Ok(Early::new(Arc::new(shared), None))
    }

    /// Builds the expected stack. The connection is usable once the stack is built, with or without an
    /// answer.
    async fn connect_at_once(
        self: Box<Self>,
        base: D::Connection,
        proposal: Proposal,
        Expectation { expected, claim, ticket, picks, layers }: Expectation,
    ) -> Result<Early<D::Out>, Error> {
        let runtime = base.base().runtime().clone();
        let mtu = base.base().mtu();
        let now = runtime.now();
        let settings = &self.connector.settings;
        let handshake = Handshake::proposing(proposal, || runtime.random(), mtu, now, settings)?;
        let max = settings.first_flight;
        let delay = settings.first_flight_delay;
        let idle_timeout = agreed_idle_timeout(settings.idle_timeout, expected.idle_ms);
        let differing = expected.capabilities.clone();
        let flight =
            FirstFlight::claiming(handshake, Claim { expected, claim, ticket }, mtu, max, delay, now);
        let (link, early_link) = Link::before_answer(base, flight, settings.clone(), idle_timeout);
        let start = now + delay.min(settings.repeat_after).min(UNDRIVEN);
        let link_task = LinkTask { start, link: early_link.clone() };
        let stage = {
            let mut building = pin!(self.build(link, Agreement::expected(layers, picks), differing));
            match poll_fn(|cx| Poll::Ready(building.as_mut().poll(cx))).await {
                Poll::Ready(Ok(built)) => Ok((built, early_link)),
                // Boxed, here and above, so that the usual case carries no room for the rare one.
                polled => Err(Box::pin(self.build_meanwhile(polled, building, early_link)).await?),
            }
        };
        match stage {
            Ok((built, early_link)) => {
                Ok(self.hand_out(built, PendingHandshake::NotBegun(early_link), link_task))
            }
            Err(Stage::AwaitingAnswer(built, handshake)) => {
                Ok(self.hand_out(built, PendingHandshake::Begun(handshake), link_task))
            }
            Err(Stage::Answered(built, answered)) => {
                Box::pin(self.answered(built, *answered, link_task)).await
            }
        }
    }

    /// Builds a stack that was not ready at once, while the handshake runs: some Chunnels exchange messages
    /// while they are built.
    async fn build_meanwhile<'s>(
        &'s self,
        polled: Poll<Result<Built<D::Out>, Error>>,
        building: Pin<&mut (impl Future<Output = Result<Built<D::Out>, Error>> + Send + 's)>,
        early_link: EarlyLink<D::Connection>,
    ) -> Result<Stage<D::Connection, D::Out>, Error> {
        early_link.start_timers();
        let mut handshake: BoxFuture<'static, _> = Box::pin(early_link.run());
        let first = match polled {
            Poll::Ready(built) => Either::Left(built),
            Poll::Pending => match select(building, &mut handshake).await {
                Either::Left((built, _)) => Either::Left(built),
                Either::Right((answered, building)) => Either::Right((answered?, building)),
            },
        };
        match first {
            Either::Left(Ok(built)) => Ok(Stage::AwaitingAnswer(built, handshake)),
            // The stack has failed, or the server has just picked another stack.
            Either::Left(Err(error)) => {
                let answered = handshake.await?;
                if answered.replaced.is_none() {
                    answered.link.failed(&error).await;
                }
                Ok(Stage::Answered(Err(error), Box::new(answered)))
            }
            // A Chunnel that exchanges messages while it is built waits in vain over the stack that was
            // expected.
            Either::Right((answered, _)) if answered.replaced.is_some() => {
                Ok(Stage::Answered(Err(given_up()), Box::new(answered)))
            }
            Either::Right((answered, building)) => {
                answered.link.answer_accepted();
                Ok(Stage::Answered(building.await, Box::new(answered)))
            }
        }
    }

    /// Returns the connection of a client whose answer came before the stack was built.
    async fn answered(
        self: Box<Self>,
        built: Result<Built<D::Out>, Error>,
        Answered { answer, received, session, replaced, .. }: Answered<D::Connection>,
        link_task: LinkTask<D::Connection>,
    ) -> Result<Early<D::Out>, Error> {
        self.remember(&answer, received);
        let shared = match replaced {
            Some(start) => EarlyState::new(self.rebuild(start, answer, session).await?, 0, self.span.clone()),
            None => {
                let shared = EarlyState::new(built?, 0, self.span.clone());
                let zero_rtt = zero_rtt(&answer);
                shared.agreed_to(self.agreement(answer, session, zero_rtt));
                shared
            }
        };
        shared.agreed();
        // The watchdog of a link that was replaced soon ends.
        let link_task = shared.spawn_link_task(link_task.start, link_task.link.into_watchdog());
        Ok(Early::new(Arc::new(shared), Some(link_task)))
    }

    /// Returns the connection of a client whose server has not answered.
    fn hand_out(
        self: Box<Self>,
        first: Built<D::Out>,
        pending: PendingHandshake<D::Connection>,
        LinkTask { start, link }: LinkTask<D::Connection>,
    ) -> Early<D::Out> {
        let max = self.connector.settings.first_flight;
        let shared = Arc::new(EarlyState::new(first, max, self.span.clone()));
        shared.drive_by(self.finish(HandshakeGuard::new(shared.clone()), pending));
        let handshake = shared.clone();
        let link_task = shared.spawn_link_task(start, async move {
            link.start_timers();
            handshake.drive().await;
            // The task keeps no part of the handshake as long as the connection.
            drop(handshake);
            link.into_watchdog().await;
        });
        Early::new(shared, Some(link_task))
    }
}
