//! The task that follows the store, and changes the rounds.

use super::handover::{Known, Stage, leave, receive_rest};
use super::link::{GroupLink, Shared};
use super::peer_progress::Standings;
use super::round::RoundId;
use crate::member::{Event, InForce};
use crate::participant::Participant;
use crate::settings::RendezvousSettings;
use bertha_core::check_needs;
use bertha_core::{
    Addr, Base, BoxFuture, Buf, Chunnel, ConnectContext, Connected, Connection, Connector, Error, ErrorKind,
    Node, Picks, Preference, Role, Runtime, preferred, resolve,
};
use bertha_negotiation::internals::End;
use bertha_negotiation::internals::{Rounds, end_sending, read_meanwhile};
use bertha_negotiation::wire::Standing;
use bertha_negotiation::{Agreement, Pick};
use futures_util::future::{Either, FutureExt, pending, select};
use futures_util::select_biased;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot, watch};

/// What an application asks of the agent, and where the answer goes.
pub(super) type Wish = (Pick, oneshot::Sender<Result<(), Error>>);

/// A request to leave, and where to say that it is done.
pub(super) type Farewell = oneshot::Sender<Result<(), Error>>;

type RuntimeOf<B> = <<B as Connection>::Base as Base>::Runtime;

/// What the application may ask about.
#[derive(Clone)]
pub(super) struct State {
    pub(super) agreement: Arc<Agreement>,
    pub(super) participants: Arc<[u64]>,
}

pub(super) struct Agent<S, C, B: Connection<Data = Buf>> {
    pub(super) stack: Arc<S>,
    pub(super) shared: Arc<Shared<B>>,
    pub(super) rounds: Arc<Rounds<C>>,
    pub(super) participant: Participant<RuntimeOf<B>>,
    pub(super) settings: RendezvousSettings,
    pub(super) heard: mpsc::Receiver<Standing>,
    pub(super) wished: mpsc::Receiver<Wish>,
    pub(super) farewell: mpsc::Receiver<Farewell>,
    pub(super) state: watch::Sender<State>,
    pub(super) known: Known,
    /// The round in which this participant receives.
    pub(super) current: Stage<C, B>,
    /// What is in force as this participant knows.
    pub(super) in_force: InForce,
    pub(super) changes: Changes<C, B>,
}

/// The change under way, and what comes after it.
pub(super) struct Changes<C, B: Connection<Data = Buf>> {
    /// To be staged, once there is nothing else to do.
    asked: Option<Next>,
    /// In force without having been staged here: this participant was taken for gone meanwhile.
    missed: Option<InForce>,
    /// The next round, once it is being built.
    next: Option<Next>,
    built: Option<Stage<C, B>>,
    /// Whether the next round is in force.
    is_committed: bool,
    building: Option<BoxFuture<'static, Result<Stage<C, B>, Error>>>,
    /// The room in front of messages that was reserved before that, in bytes. Nothing else reserves any meanwhile.
    reserved: usize,
    /// The step that is being done.
    work: Option<BoxFuture<'static, Done>>,
    /// Whether receivers are leaving the old round, so that nobody may read for them.
    is_changing_receivers: bool,
    /// The application's wish, who waits for it, and whether it was proposed.
    wish: Option<Wish>,
    is_proposed: bool,
}

impl<C, B: Connection<Data = Buf>> Default for Changes<C, B> {
    fn default() -> Self {
        Self {
            asked: None,
            missed: None,
            next: None,
            built: None,
            is_committed: false,
            building: None,
            reserved: 0,
            work: None,
            is_changing_receivers: false,
            wish: None,
            is_proposed: false,
        }
    }
}

/// A round to come.
#[derive(Clone)]
struct Next {
    id: RoundId,
    picks: Vec<u8>,
    leads: bool,
    is_staged: bool,
}

/// A step that took time.
enum Done {
    Drained,
    ReceivedRest,
    ReceiversLeft,
}

/// What the agent waits for.
enum Input<C, B: Connection<Data = Buf>> {
    Store(Option<Event>),
    Heard(Standing),
    Wished(Wish),
    Farewell(Option<Farewell>),
    Built(Result<Stage<C, B>, Error>),
    Done(Done),
    Timer,
    Broken,
}

/// The round that this is.
pub(super) fn round_of(in_force: &InForce) -> RoundId {
    RoundId { life: in_force.life, number: in_force.round }
}

/// The stack with these alternatives, on `link`, if each Chunnel has what it needs there.
pub(super) async fn build<S, B>(
    stack: &S,
    link: GroupLink<B>,
    picks: &[u8],
    leads: bool,
) -> Result<S::Connection, Error>
where
    S: Chunnel<GroupLink<B>>,
    B: Connection<Data = Buf>,
{
    let layers = resolve(&stack.nodes(), Picks::new(picks));
    check_needs(&layers, link.base().properties().guarantees())?;
    stack.instantiate(link, Picks::new(picks), ConnectContext::new(&Alone, Role::Participant { leads })).await
}

/// There are no further connections: a participant has no peer to open them to.
struct Alone;

impl<I> Connector<I> for Alone {
    fn connect<'a>(&'a self, to: Addr, _: Vec<Node>) -> BoxFuture<'a, Result<Connected<I>, Error>>
    where
        I: 'a,
    {
        let what =
            format!("cannot reach {to}: a connection among participants reaches all of them and nobody else");
        Box::pin(async { Err(Error::new(ErrorKind::Unavailable, what)) })
    }
}

impl<S, B> Agent<S, S::Connection, B>
where
    S: Chunnel<GroupLink<B>, Connection: Connection<Base = B::Base>> + 'static,
    B: Connection<Data = Buf>,
{
    fn runtime(&self) -> RuntimeOf<B> {
        self.shared.base.base().runtime().clone()
    }

    fn now(&self) -> Instant {
        self.shared.base.base().runtime().now()
    }

    /// Serves the connection until it is left.
    pub(super) async fn run(mut self) {
        let mut farewell = None;
        let mut patience = None;
        loop {
            // A change that has begun is finished first: the others count on it.
            if farewell.is_some()
                && (!self.changes.is_committed || patience.is_some_and(|until| self.now() >= until))
            {
                break;
            }
            let standing = self.known.lock().poll(self.now());
            if let Some(standing) = standing {
                self.shared.say(&standing).await;
            }
            self.go_on();
            match self.input(patience).await {
                Input::Store(Some(event)) => {
                    if let Err(error) = self.follow(event).await {
                        self.shared.liveness.not_agreed(&error);
                        break;
                    }
                    self.propose().await;
                }
                // Out of the store's connection, and told before why.
                Input::Store(None) => break,
                Input::Heard(standing) => self.known.lock().hear(self.now(), standing),
                Input::Wished(wish) => {
                    self.changes.wish = Some(wish);
                    self.propose().await;
                }
                Input::Farewell(Some(asked)) => {
                    farewell = Some(asked);
                    patience = Some(self.now() + self.settings.handover_timeout);
                }
                Input::Farewell(None) => break,
                Input::Built(built) => {
                    if let Err(error) = self.built(built).await {
                        tracing::warn!(%error, "the stack in force can't be built");
                        self.shared.liveness.not_agreed(&error);
                        break;
                    }
                }
                Input::Done(done) => self.done(done),
                Input::Timer => {}
                // The base's own error comes from `recv` as well.
                Input::Broken => break,
            }
        }
        if let Some((_, report)) = self.changes.wish.take() {
            let _ = report.send(Err(gone()));
        }
        let left = match &farewell {
            Some(_) => self.part().await,
            None => Ok(()),
        };
        self.shared.liveness.end(End::Closed);
        // Calls that wait for a change find the end of the link in whichever round.
        self.rounds.sending.open(&self.current.round);
        self.rounds.receiving.open(&self.current.round);
        if let Some(farewell) = farewell {
            let _ = farewell.send(left);
        }
    }

    /// Leaves. Who leads goes on doing so until the others have begun another round without it.
    async fn part(&mut self) -> Result<(), Error> {
        let left = self.participant.part().await;
        let (runtime, from) = (self.runtime(), self.known.lock().round());
        let late = runtime.now() + self.settings.handover_timeout;
        let next = RoundId { number: from.number + 1, ..from };
        while self.in_force.leads() && self.now() < late {
            while let Ok(standing) = self.heard.try_recv() {
                self.known.lock().hear(self.now(), standing);
            }
            if self.known.lock().behind(from, next).next().is_none() {
                break;
            }
            let pause = self.settings.handover_timeout / 500;
            runtime.sleep_until(runtime.now() + pause).await;
        }
        // So that they need not wait for what may still be on its way. Twice, since one may be lost.
        let newest =
            self.changes.built.as_ref().filter(|_| self.changes.is_committed).unwrap_or(&self.current);
        let farewell = self.known.lock().left(self.now(), newest.lane.sent());
        self.shared.say(&farewell).await;
        self.shared.say(&farewell).await;
        left
    }

    async fn input(&mut self, patience: Option<Instant>) -> Input<S::Connection, B> {
        let link = &*self.shared;
        let runtime = link.base.base().runtime();
        let next = self.known.lock().next_time().into_iter().chain(patience).min();
        let mut timer = pin!(
            async {
                match next {
                    Some(time) => runtime.sleep_until(time).await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let Changes { building, work, is_changing_receivers, wish, is_committed, .. } = &mut self.changes;
        let may_read = *is_committed && !*is_changing_receivers;
        let (rounds, current) = (&self.rounds, &self.current.round);
        let mut reading = pin!(
            async { if may_read { read_meanwhile(rounds, current, link).await } else { pending().await } }
                .fuse()
        );
        let (wished, may_wish) = (&mut self.wished, wish.is_none());
        let mut wished = pin!(async { if may_wish { wished.recv().await } else { pending().await } }.fuse());
        let mut built = pin!(
            async {
                match building {
                    Some(building) => building.await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let mut worked = pin!(
            async {
                match work {
                    Some(work) => work.await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let mut store = pin!(self.participant.next().fuse());
        select_biased! {
            farewell = self.farewell.recv().fuse() => Input::Farewell(farewell),
            event = store => Input::Store(event),
            standing = self.heard.recv().fuse() => match standing {
                Some(standing) => Input::Heard(standing),
                None => Input::Broken,
            },
            done = worked => Input::Done(done),
            built = built => Input::Built(built),
            wish = wished => wish.map_or(Input::Farewell(None), Input::Wished),
            () = timer => Input::Timer,
            _ = reading => Input::Broken,
        }
    }

    /// Does what the store says.
    ///
    /// # Errors
    /// Why the participant is out.
    async fn follow(&mut self, event: Event) -> Result<(), Error> {
        let now = self.now();
        match event {
            Event::Stage { round, picks, leads, .. } => {
                let id = RoundId { life: self.in_force.life, number: round };
                self.changes.asked = Some(Next { id, picks, leads, is_staged: true });
            }
            Event::Abandoned { round } => {
                self.changes.asked.take_if(|asked| asked.id.number == round);
                if !self.changes.is_committed
                    && self
                        .changes
                        .next
                        .as_ref()
                        .is_some_and(|next| next.is_staged && next.id.number == round)
                {
                    self.discard();
                }
            }
            Event::Commit(in_force) | Event::Joined(in_force) => self.committed(in_force),
            Event::Participants(ids) => {
                let forgotten = self.known.lock().present(now, &ids);
                for stage in [Some(&self.current), self.changes.built.as_ref()].into_iter().flatten() {
                    stage.lane.senders.forget(&forgotten);
                }
                self.state.send_modify(|state| state.participants = ids.into());
            }
            // One of its policies otherwise.
            Event::Refused { reason, .. } if self.changes.is_proposed => {
                self.report(Err(Error::new(ErrorKind::Refused, reason)));
            }
            Event::Expired => {
                let what = "the store took this participant for gone; it joins again";
                self.report(Err(Error::new(ErrorKind::TimedOut, what)));
            }
            Event::StoreLost { kind, reason } => {
                tracing::debug!(%reason, "the store is lost; the stack in use stays");
                self.report(Err(Error::new(kind, reason)));
            }
            Event::Fault { reason } => tracing::warn!(%reason, "a fault in the store was put right"),
            Event::Failed { kind, reason } => return Err(Error::new(kind, reason).at("rendezvous")),
            Event::Refused { .. } | Event::StoreBack | Event::Left => {}
        }
        Ok(())
    }

    fn report(&mut self, result: Result<(), Error>) {
        self.changes.is_proposed = false;
        if let Some((_, report)) = self.changes.wish.take() {
            let _ = report.send(result.map_err(|error| error.at("rendezvous")));
        }
    }

    /// This is in force.
    fn committed(&mut self, in_force: InForce) {
        let (id, own_id) = (round_of(&in_force), in_force.own_id);
        if self.shared.own_id.swap(own_id, Ordering::Relaxed) != own_id {
            self.known.lock().rename(self.now(), own_id);
        }
        let is_known = id == round_of(&self.in_force);
        self.in_force = in_force.clone();
        if is_known {
            return;
        }
        let is_next = self.changes.next.as_ref().is_some_and(|next| next.id == id);
        match is_next && self.changes.built.is_some() && !self.changes.is_committed {
            true => self.begin(),
            false => self.changes.missed = Some(in_force),
        }
    }

    /// Takes up what waits, if nothing is under way.
    fn go_on(&mut self) {
        if self.changes.is_committed || self.changes.building.is_some() {
            return;
        }
        if let Some(missed) = self.changes.missed.take() {
            self.discard();
            let id = round_of(&missed);
            if id != self.current.lane.id {
                let leads = missed.leads();
                self.build(Next { id, picks: missed.picks, leads, is_staged: false });
            }
        } else if self.changes.next.is_none()
            && let Some(asked) = self.changes.asked.take()
        {
            self.build(asked);
        }
    }

    /// Begins to build a round's stack.
    fn build(&mut self, next: Next) {
        let link = self.shared.begin(next.id, next.is_staged, true);
        let (stack, runtime, limit) = (self.stack.clone(), self.runtime(), self.settings.handover_timeout);
        let again = link.again();
        let before = self.shared.base.base().reserved();
        let (picks, leads) = (next.picks.clone(), next.leads);
        self.changes.next = Some(next);
        self.changes.reserved = before;
        self.changes.building = Some(Box::pin(async move {
            let building = pin!(build(&*stack, link, &picks, leads));
            let built = match select(building, pin!(runtime.sleep_until(runtime.now() + limit))).await {
                Either::Left((built, _)) => built,
                Either::Right(_) => {
                    Err(Error::new(ErrorKind::TimedOut, "a Chunnel did not get ready in time")
                        .at("rendezvous"))
                }
            };
            built.map(|connection| Stage::new(connection, &again, before))
        }));
    }

    /// Forgets the next round, which does not come.
    fn discard(&mut self) {
        self.changes.building = None;
        match (self.changes.built.take(), self.changes.next.take()) {
            (Some(stage), _) => stage.forget(),
            (None, Some(next)) => {
                self.shared.forget_round(next.id);
                let base = self.shared.base.base();
                base.release(base.reserved().saturating_sub(self.changes.reserved));
            }
            (None, None) => {}
        }
    }

    /// Goes on with what was built, or tells the others that it can't be.
    ///
    /// # Errors
    /// Why the participant is out: it can't build what is in force, and would only hold up the others.
    async fn built(&mut self, built: Result<Stage<S::Connection, B>, Error>) -> Result<(), Error> {
        self.changes.building = None;
        let Some(next) = self.changes.next.clone() else { return Ok(()) };
        // If the participant is out, an event says so.
        match built {
            Ok(stage) => {
                self.changes.built = Some(stage);
                if !next.is_staged {
                    self.begin();
                } else if self.participant.staged(next.id.number).await.is_err() {
                    tracing::debug!("the participant is out");
                }
            }
            Err(error) if next.is_staged => {
                self.discard();
                if self.participant.refuse(next.id.number, error.to_string()).await.is_err() {
                    tracing::debug!("the participant is out");
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The next round is in force: finishes with what is sent in the old one.
    fn begin(&mut self) {
        self.changes.is_committed = true;
        let (rounds, old, runtime) = (self.rounds.clone(), self.current.round.clone(), self.runtime());
        let limit = self.settings.handover_timeout;
        self.changes.work = Some(Box::pin(async move {
            // What may not fail goes on without having drained, and says so.
            let _ = end_sending(rounds, old, runtime, (limit, false)).await;
            Done::Drained
        }));
    }

    fn done(&mut self, done: Done) {
        self.changes.work = None;
        let now = self.now();
        let (Some(next), Some(new)) = (self.changes.next.clone(), self.changes.built.clone()) else { return };
        let (rounds, old) = (self.rounds.clone(), self.current.clone());
        match done {
            Done::Drained => {
                self.known.lock().moved(now, next.id);
                new.lane.hold_back(self.state.borrow().participants.len());
                *rounds.newest() = new.round.clone();
                rounds.sending.open(&new.round);
                let agreement =
                    Agreement::among(next.leads, &self.stack.nodes(), (next.id.number, next.picks.clone()));
                tracing::debug!(%agreement, "changed the stack");
                self.state.send_modify(|state| state.agreement = Arc::new(agreement));
                let nodes = self.stack.nodes();
                if self.changes.wish.as_ref().is_some_and(|(pick, _)| pick.is_met(&nodes, &next.picks)) {
                    self.report(Ok(()));
                }
                let (known, settings) = (self.known.clone(), self.settings.clone());
                self.changes.work = Some(Box::pin(async move {
                    receive_rest(old, next.id, known, settings).await;
                    Done::ReceivedRest
                }));
            }
            Done::ReceivedRest => {
                new.lane.let_go();
                self.shared.liveness.wake();
                self.changes.is_changing_receivers = true;
                self.changes.work = Some(Box::pin(async move {
                    leave(rounds, old).await;
                    Done::ReceiversLeft
                }));
            }
            Done::ReceiversLeft => {
                self.shared.read_through(&old.lane, &new.lane);
                rounds.receiving.open(&new.round);
                self.current = new;
                old.forget();
                self.changes.is_changing_receivers = false;
                self.changes.next = None;
                self.changes.built = None;
                self.changes.is_committed = false;
            }
        }
    }

    /// Asks the others for what the application asked for, unless that was done.
    async fn propose(&mut self) {
        let Some((pick, _)) = self.changes.wish.as_ref().filter(|_| !self.changes.is_proposed) else {
            return;
        };
        let (nodes, in_use) = (self.stack.nodes(), &self.in_force.picks);
        if pick.is_met(&nodes, in_use) {
            // Or will be once this participant has changed to what is in force.
            if self.known.lock().round() == round_of(&self.in_force) {
                self.report(Ok(()));
            }
            return;
        }
        // What is wanted is preferred among any number.
        let wanted = pick.preferred(&nodes, in_use).map(|nodes| preferred(&nodes, Preference::TWO_ENDS));
        let proposed = match wanted {
            Ok(picks) => self.participant.propose(picks).await,
            Err(error) => Err(error),
        };
        match proposed {
            Ok(()) => self.changes.is_proposed = true,
            // A proposal of this participant's policies is under way. Once it is decided, this one can be made.
            Err(error) if error.kind() == ErrorKind::Exhausted => {}
            // What is in force has changed since, as an event will say.
            Err(_) if self.participant.has_news() => {}
            Err(error) => self.report(Err(error)),
        }
    }
}

/// The error for what is asked of a connection that was left.
pub(super) fn gone() -> Error {
    Error::new(ErrorKind::Closed, "the connection has ended").at("rendezvous")
}

/// What an agent knows in the beginning.
pub(super) fn known(now: Instant, in_force: &InForce) -> Known {
    Known::new(Standings::new(now, in_force.own_id, round_of(in_force)))
}
