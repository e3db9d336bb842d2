//! The task that agrees with the other end on changes, and makes them.

use super::connection::Wish;
use super::machine::{Act, Upgrades};
use super::round::{Round, Rounds};
use super::work::{end_sending, read_meanwhile, receive_rest, vacate};
use crate::Agreement;
use crate::Link;
use crate::link::{EpochQueue, Fork, Shared};
use crate::wire::Upgrade;
use bertha_core::{
    Base, BoxFuture, Buf, Chunnel, ConnectContext, Connection, Error, ErrorKind, Picks, Runtime,
};
use futures_util::future::{FutureExt, pending};
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, select_biased};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

pub(super) struct Agent<S, C, B: Connection<Data = Buf>> {
    stack: Arc<S>,
    fork: Fork<B>,
    rounds: Arc<Rounds<C>>,
    upgrades: Upgrades,
    heard: mpsc::Receiver<Upgrade>,
    wished: mpsc::Receiver<Wish>,
    report: Option<oneshot::Sender<Result<(), Error>>>,
    /// The rounds in which this end receives, and, during a change, the next one.
    current: Stage<C>,
    staged: Option<Staged<C, B>>,
    /// The future that builds the staged stack.
    building: Option<BoxFuture<'static, Result<C, Error>>>,
    work: FuturesUnordered<BoxFuture<'static, Done>>,
    /// Whether this end sends in the next round, and has received all of the old one. Only then do receivers leave the
    /// old stack: as long as it drains, somebody has to receive what its counterpart says to that.
    has_begun: bool,
    has_received_rest: bool,
    /// Whether receivers are asked to leave, so that nobody may read for them.
    is_changing_receivers: bool,
}

struct Stage<C> {
    round: Arc<Round<C>>,
    lane: Arc<EpochQueue>,
    /// The room in front of messages that its stack has reserved, in bytes.
    reserved: usize,
}

/// The round to which the connection is about to change.
struct Staged<C, B: Connection<Data = Buf>> {
    lane: Arc<EpochQueue>,
    /// Until its stack is being built.
    link: Option<Link<B>>,
    /// Once it is.
    round: Option<Arc<Round<C>>>,
    /// The room that was reserved before, in bytes. Nothing else reserves any meanwhile.
    before: usize,
}

/// A step that took time.
enum Done {
    Sent(Result<u64, Error>),
    ReceivedRest,
    ReceiversLeft,
}

/// What the agent waits for.
enum Event<C> {
    Heard(Upgrade),
    Wished(Wish),
    Built(Result<C, Error>),
    Done(Done),
    Timer,
    Ended,
}

impl<S, B> Agent<S, S::Connection, B>
where
    S: Chunnel<Link<B>, Connection: Connection<Base = B::Base>> + 'static,
    B: Connection<Data = Buf>,
{
    pub(super) fn new(
        stack: Arc<S>,
        fork: Fork<B>,
        rounds: Arc<Rounds<S::Connection>>,
        (first, reserved): (Arc<Round<S::Connection>>, usize),
        (heard, wished): (mpsc::Receiver<Upgrade>, mpsc::Receiver<Wish>),
    ) -> Self {
        let (shared, settings) = (&fork.shared, fork.shared.settings());
        let picks = shared.agreement().map(|agreement| agreement.picks().to_vec()).unwrap_or_default();
        let upgrades = Upgrades::new(
            (shared.id(), shared.role()),
            stack.nodes(),
            picks,
            shared.requirements(),
            (settings.handshake_timeout, settings.repeat_after),
        );
        let current = Stage { round: first, lane: fork.first(), reserved };
        Self {
            stack,
            fork,
            rounds,
            upgrades,
            heard,
            wished,
            report: None,
            current,
            staged: None,
            building: None,
            work: FuturesUnordered::new(),
            has_begun: false,
            has_received_rest: false,
            is_changing_receivers: false,
        }
    }

    fn shared(&self) -> &Arc<Shared<B>> {
        &self.fork.shared
    }

    fn now(&self) -> Instant {
        self.shared().base().runtime().now()
    }

    /// Serves the connection until it ends.
    pub(super) async fn run(mut self) {
        loop {
            while let Some(upgrade) = self.upgrades.poll_transmit(self.now()) {
                self.shared().say_upgrade(&upgrade).await;
            }
            if let Some(act) = self.upgrades.poll_act() {
                self.perform(act);
                continue;
            }
            let event = self.event().await;
            let now = self.now();
            match event {
                Event::Heard(upgrade) => self.upgrades.handle(now, upgrade),
                Event::Wished((pick, report)) => {
                    self.report = Some(report);
                    self.upgrades.wish(now, pick);
                }
                Event::Built(built) => self.built(now, built),
                Event::Done(done) => self.done(now, done),
                Event::Timer => {}
                Event::Ended => break,
            }
        }
        // Calls that wait for the change find the link's error in whichever round.
        self.rounds.sending.open(&self.current.round);
        self.rounds.receiving.open(&self.current.round);
        if let (Some(report), Err(error)) = (self.report.take(), self.shared().check()) {
            let _ = report.send(Err(error));
        }
    }

    async fn event(&mut self) -> Event<S::Connection> {
        let shared = &self.fork.shared;
        let runtime = shared.base().runtime();
        let deadline = self.upgrades.poll_timeout();
        let mut timer = pin!(
            async {
                match deadline {
                    Some(deadline) => runtime.sleep_until(deadline).await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let (may_read, may_wish) =
            (!self.upgrades.is_idle() && !self.is_changing_receivers, !self.upgrades.has_wish());
        let (rounds, current) = (&self.rounds, &self.current.round);
        let mut reading = pin!(
            async {
                if may_read { read_meanwhile(rounds, current, &**shared).await } else { pending().await }
            }
            .fuse()
        );
        let wished = &mut self.wished;
        let mut wished = pin!(async { if may_wish { wished.recv().await } else { pending().await } }.fuse());
        let building = &mut self.building;
        let mut built = pin!(
            async {
                match building {
                    Some(building) => building.await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let mut ended = pin!(poll_fn(|context| shared.poll_ended(context)).fuse());
        select_biased! {
            _ = ended => Event::Ended,
            upgrade = self.heard.recv().fuse() => upgrade.map_or(Event::Ended, Event::Heard),
            done = self.work.select_next_some() => Event::Done(done),
            built = built => Event::Built(built),
            wish = wished => wish.map_or(Event::Ended, Event::Wished),
            _ = timer => Event::Timer,
            _ = reading => Event::Ended,
        }
    }

    fn built(&mut self, now: Instant, built: Result<S::Connection, Error>) {
        self.building = None;
        let built = built.map(|connection| {
            if let Some(staged) = &mut self.staged {
                staged.round = Some(Round::new(connection));
            }
        });
        self.upgrades.built(now, built);
    }

    fn perform(&mut self, act: Act) {
        let (rounds, shared) = (self.rounds.clone(), self.shared().clone());
        let old = self.current.round.clone();
        match act {
            Act::Stage { round } => {
                let (link, lane) = self.fork.link(round);
                let before = shared.base().reserved();
                self.staged = Some(Staged { lane, link: Some(link), round: None, before });
            }
            Act::Build { picks, said } => self.build(picks, said),
            Act::Discard => {
                self.building = None;
                if let Some(staged) = self.staged.take() {
                    shared.forget(&staged.lane);
                    shared.base().release(shared.base().reserved().saturating_sub(staged.before));
                }
            }
            Act::EndSending { may_fail } => {
                let runtime = shared.base().runtime().clone();
                let terms = (shared.settings().handshake_timeout, may_fail);
                self.work.push(Box::pin(async move {
                    Done::Sent(end_sending(rounds, old, runtime, terms).await)
                }));
            }
            Act::Begin { round, terms } => {
                let Some(new) = self.staged.as_ref().and_then(|staged| staged.round.clone()) else { return };
                if let Some(agreement) = shared.agreement() {
                    let agreement: Agreement = agreement.renewed(&self.stack.nodes(), (round, terms.picks));
                    tracing::debug!(%agreement, "changed the stack");
                    shared.agree(agreement);
                }
                self.current.lane.put_in_force(false);
                if let Some(staged) = &self.staged {
                    staged.lane.put_in_force(true);
                }
                *rounds.newest() = new.clone();
                rounds.sending.open(&new);
                self.has_begun = true;
                self.change_receivers();
            }
            Act::EndReceiving { sent } => self.work.push(Box::pin(async move {
                receive_rest(rounds, shared, sent).await;
                Done::ReceivedRest
            })),
            Act::Retire => {
                let Some(Staged { lane, round: Some(round), before, .. }) = self.staged.take() else {
                    return;
                };
                let reserved = shared.base().reserved().saturating_sub(before);
                let retired = std::mem::replace(&mut self.current, Stage { round, lane, reserved });
                // Dropped and not closed: both ends have drained it, and a Chunnel that told its counterpart of its end would
                // end what the other end's receivers have yet to leave.
                shared.forget(&retired.lane);
                shared.base().release(retired.reserved);
                drop((old, retired));
            }
            Act::Report(result) => {
                if let Some(report) = self.report.take() {
                    let _ = report.send(result);
                }
            }
        }
    }

    fn build(&mut self, picks: Vec<u8>, said: [u8; 32]) {
        let Some(link) = self.staged.as_mut().and_then(|staged| staged.link.take()) else { return };
        let (stack, shared) = (self.stack.clone(), self.shared().clone());
        self.building = Some(Box::pin(async move {
            let runtime = shared.base().runtime();
            let opener = shared.opener();
            let context = opener
                .as_ref()
                .map_or_else(ConnectContext::none, |context| ConnectContext::new(&**context, shared.role()));
            let context = context.with_transcript(Some(shared.session().transcript_of(&said)));
            let building = stack.instantiate(link, Picks::new(&picks), context);
            let deadline = runtime.now() + shared.settings().handshake_timeout;
            let mut timer = pin!(runtime.sleep_until(deadline).fuse());
            let mut building = pin!(building.fuse());
            select_biased! {
                built = building => built,
                () = timer => {
                    let what = "a Chunnel did not get ready in time";
                    Err(Error::new(ErrorKind::TimedOut, what).at("negotiation"))
                }
            }
        }));
    }

    fn change_receivers(&mut self) {
        if self.has_begun && self.has_received_rest {
            self.is_changing_receivers = true;
            let (rounds, shared) = (self.rounds.clone(), self.shared().clone());
            self.work.push(Box::pin(async move {
                vacate(&rounds.receiving, shared.base().runtime()).await;
                Done::ReceiversLeft
            }));
        }
    }

    fn done(&mut self, now: Instant, done: Done) {
        match done {
            Done::Sent(result) => self.upgrades.sent(now, result),
            Done::ReceivedRest => {
                self.has_received_rest = true;
                self.change_receivers();
            }
            Done::ReceiversLeft => {
                let Some(Staged { lane, round: Some(round), .. }) = &self.staged else { return };
                self.shared().read_through(&self.current.lane, lane);
                self.rounds.receiving.open(round);
                (self.has_begun, self.has_received_rest) = (false, false);
                self.is_changing_receivers = false;
                self.upgrades.received(now);
            }
        }
    }
}
