//! Changing the stack among participants: the [agreement through the store](super::by_store), the progress of
//! the other participants, and the stacks on a group's link.

use super::board::Board;
use super::by_store::{Order, StoreAgreement, round_of};
use super::emptying::{TimeLimits, await_emptiness};
use super::link::{GroupLink, GroupLinkShared};
use super::progress::{ProgressTable, SharedProgress};
use super::rest::await_rest;
use super::round::RoundQueue;
use super::round_id::RoundId;
use super::status::Ended;
use crate::handshake::{Agreement, Requirements};
use crate::link::End;
use crate::rendezvous::member::{Event, InForce};
use crate::rendezvous::participant::Participant;
use crate::rendezvous::settings::RendezvousSettings;
use crate::upgrade::{ChangeLimits, Epochs, Handover, Pick, Staged, UpgradeProtocol};
use crate::wire::PeerProgress;
use bertha_core::check_needs;
use bertha_core::guarantee::{Reliable, Set};
use bertha_core::{
    Addr, Base, BoxFuture, Buf, Chunnel, ConnectContext, Connected, Connection, Connector, Error, ErrorKind,
    Node, NotePlace, Picks, Role, Runtime, resolve,
};
use futures_util::future::{FutureExt, pending};
use futures_util::select_biased;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::Span;

/// An application's request for other alternatives, with the sender of the answer.
pub(super) struct AgentRequest {
    pub(super) pick: Pick,
    pub(super) report: oneshot::Sender<Result<(), Error>>,
}

/// An application's request to leave: the sender of the result.
pub(super) type Leave = oneshot::Sender<Result<(), Error>>;

type RuntimeOf<B> = <<B as Connection>::Base as Base>::Runtime;

/// The state that the application may ask for.
#[derive(Clone)]
pub(super) struct AgentState {
    pub(super) agreement: Arc<Agreement>,
    pub(super) participants: Arc<[u64]>,
    /// The reason why the last proposal of this participant was refused.
    pub(super) refusal: Option<String>,
}

/// The agent's ends of its channels.
pub(super) struct Channels {
    pub(super) inbound: mpsc::Receiver<PeerProgress>,
    pub(super) requests: mpsc::Receiver<AgentRequest>,
    pub(super) leaving: mpsc::Receiver<Leave>,
    pub(super) state: watch::Sender<AgentState>,
}

/// Pause before the agent checks again that all participants have completed a change.
const LOOK: Duration = Duration::from_millis(2);

/// The agent's state where messages are shared.
pub(super) struct Sharing {
    pub(super) board: Arc<Board>,
    /// Time without messages after which no participant can hold a message that other participants wait for.
    pub(super) quiet: Duration,
    /// The round in which this end receives.
    pub(super) current: Arc<RoundQueue>,
    /// The round after `current`, once this end sends in it.
    pub(super) next: Option<Arc<RoundQueue>>,
    /// The time until which sends wait for the other participants to complete a change.
    pub(super) held_until: Option<Instant>,
    /// True if this end has come into a round without a part in it, and has to propose another round.
    pub(super) wants_round: bool,
}

/// A request to leave that is under way.
struct Leaving {
    report: Leave,
    /// The time after which a change under way is no longer waited for.
    deadline: Instant,
    left: Result<(), Error>,
}

/// An event that the agent waits for.
pub(super) enum Input {
    Store(Option<Event>),
    Progress(PeerProgress),
    Request(AgentRequest),
    Leave(Leave),
    Timer,
    /// The link has ended, or the application has dropped the connection.
    Ended,
}

/// The agent of a connection with any number of endpoints.
pub(super) struct StoreAgent<S, B: Connection<Data = Buf>> {
    stack: Arc<S>,
    shared: Arc<GroupLinkShared<B>>,
    participant: Participant<RuntimeOf<B>>,
    settings: RendezvousSettings,
    channels: Channels,
    progress: SharedProgress,
    agreement: StoreAgreement,
    /// The place for the notes of the staged stack.
    notes: Arc<NotePlace>,
    report: Option<oneshot::Sender<Result<(), Error>>>,
    leaving: Option<Leaving>,
    sharing: Option<Sharing>,
}

/// Builds the stack with these alternatives on `link`, if each Chunnel has the guarantees below it that it
/// needs.
pub(super) async fn build<S, B>(
    stack: &S,
    link: GroupLink<B>,
    picks: &[u8],
    leads: bool,
    receivers: usize,
    notes: &NotePlace,
) -> Result<S::Connection, Error>
where
    S: Chunnel<GroupLink<B>>,
    B: Connection<Data = Buf>,
{
    let layers = resolve(&stack.nodes(), Picks::new(picks));
    let below = link.base().properties().guarantees();
    // Of several receivers that share the messages, no receiver gets all messages.
    let lost = if receivers > 1 { Set::of::<Reliable>() } else { Set::NONE };
    check_needs(&layers, below.without(lost)).map_err(|error| match receivers {
        0 | 1 => error,
        _ => Error::new(
            error.kind(),
            format!("{receivers} receivers share the messages, so none gets all: {}", error.context()),
        ),
    })?;
    let shared = link.shared().clone();
    let context = ConnectContext::new(&Alone, Role::Participant { leads });
    let context = context.with_registry(&shared.dropped.by_chunnels).with_notes(notes);
    stack.instantiate(link, Picks::new(picks), context).await
}

/// A connector that opens no further connections: a participant has no peer to connect to.
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

impl<S, B> StoreAgent<S, B>
where
    S: Chunnel<GroupLink<B>>,
    B: Connection<Data = Buf>,
{
    pub(super) fn new(
        stack: Arc<S>,
        shared: Arc<GroupLinkShared<B>>,
        participant: Participant<RuntimeOf<B>>,
        settings: RendezvousSettings,
        channels: Channels,
        sharing: Option<Sharing>,
    ) -> Self {
        let active = participant.joined().clone();
        let now = shared.base.base().runtime().now();
        let progress = SharedProgress::new(ProgressTable::new(now, active.own_id, round_of(&active)));
        let requirements = Requirements::new(Set::NONE, shared.base.base().properties());
        let agreement = StoreAgreement::new(stack.nodes(), requirements, settings.may_lose, active);
        let notes = Arc::default();
        let report = None;
        let leaving = None;
        Self {
            stack,
            shared,
            participant,
            settings,
            channels,
            progress,
            agreement,
            notes,
            report,
            leaving,
            sharing,
        }
    }

    fn runtime(&self) -> &RuntimeOf<B> {
        self.shared.base.base().runtime()
    }

    fn now(&self) -> Instant {
        self.runtime().now()
    }

    /// Takes note of an event that is not about rounds.
    fn note(&self, event: &Event) {
        if let Event::Commit(InForce { own_id, .. }) | Event::Joined(InForce { own_id, .. }) = event
            && self.shared.own_id.swap(*own_id, Ordering::Relaxed) != *own_id
        {
            self.progress.lock().rename(self.now(), *own_id);
            if let Some(sharing) = &self.sharing {
                // The entry under the old id counts as the entry of a participant that vanished.
                sharing.board.change(|statuses| (statuses.own_id, statuses.is_published) = (*own_id, false));
            }
        }
        if let Event::Refused { reason, .. } = event {
            self.channels.state.send_modify(|state| state.refusal = Some(reason.clone()));
        }
        if let Event::Participants(ids) = event {
            let forgotten = self.progress.lock().set_present(self.now(), ids);
            self.shared.forget_senders(&forgotten);
            if let Some(sharing) = &self.sharing {
                sharing.board.change(|statuses| statuses.present.clone_from(ids));
            }
            self.channels.state.send_modify(|state| state.participants = ids.as_slice().into());
        }
    }

    /// Leaves where messages are shared: the messages that this end still holds go back, and the other
    /// participants are told which messages it has taken.
    async fn leave_shared(&mut self, newest: &RoundQueue) -> Result<(), Error> {
        let Some(sharing) = &self.sharing else { return Ok(()) };
        let rounds = [&*sharing.current, newest];
        let shares = rounds.map(|round| round.share.clone());
        shares.iter().flatten().for_each(|share| share.give_back());
        let closed = self.shared.base.close().await;
        sharing.board.change(|statuses| {
            statuses.change(|own| {
                if let (Some(before), Some(share)) = (&mut own.before, &shares[0])
                    && !before.is_over
                    && before.round == sharing.current.id
                {
                    // This end leaves in the middle of a change, before any message was sent in the next
                    // round.
                    before.taken = share.let_go();
                } else if let Some(share) = &shares[1] {
                    let sent = share.sent();
                    let taken = share.let_go();
                    let round = own.round;
                    let had_part = own.has_part;
                    own.before = Some(Ended { round, had_part, sent, taken, is_over: true });
                }
                own.round.number = u64::MAX;
                own.has_left = true;
            });
        });
        sharing.board.published(self.runtime(), self.settings.store_timeout).await;
        self.participant.part().await.and(closed)
    }

    /// Returns the reason why this end can't leave the round in force: messages wait for a receiver that is
    /// not there.
    fn reason_to_stay(&self) -> Option<&'static str> {
        let sharing = self.sharing.as_ref()?;
        let sent = sharing.current.share.as_ref().is_some_and(|share| share.sent().count > 0);
        let statuses = sharing.board.lock();
        let is_waited_for = sent || statuses.have_others_sent(sharing.current.id);
        (statuses.receivers() == 0 && is_waited_for)
            .then_some("messages wait for a receiver, and there is none; start one first")
    }

    /// Lets sends go on in the new round once all participants have completed the change, or are late.
    fn lift_if_all_are_through(&mut self) {
        let now = self.now();
        let Some(sharing) = &mut self.sharing else { return };
        let is_through = |late: Instant| sharing.board.lock().all_are_through() || now >= late;
        if sharing.next.is_none() && sharing.held_until.is_some_and(is_through) {
            sharing.current.lift_limit();
            self.shared.lifecycle.wake();
            sharing.held_until = None;
        }
    }

    /// Leaves. The leader goes on leading until the other participants have begun another round without it.
    async fn leave(&mut self, newest: &RoundQueue) -> Result<(), Error> {
        if self.sharing.is_some() {
            return self.leave_shared(newest).await;
        }
        let left = self.participant.part().await;
        let from = self.progress.lock().round();
        let late = self.now() + self.settings.handover_timeout;
        let next = RoundId { number: from.number.saturating_add(1), ..from };
        while self.agreement.leads() && self.now() < late {
            while let Ok(progress) = self.channels.inbound.try_recv() {
                self.progress.lock().on_progress(self.now(), progress);
            }
            if self.progress.lock().behind(from, next).next().is_none() {
                break;
            }
            let pause = self.settings.handover_timeout / 500;
            self.runtime().sleep_until(self.now() + pause).await;
        }
        // With this report, the other participants need not wait for messages that may still be on their way.
        // It is sent twice, since one copy may be lost.
        let last = self.progress.lock().leave(self.now(), newest.sent());
        self.shared.send_progress(&last).await;
        self.shared.send_progress(&last).await;
        left
    }
}

impl<S, B> UpgradeProtocol for StoreAgent<S, B>
where
    S: Chunnel<GroupLink<B>, Connection: Connection<Base = B::Base>> + 'static,
    B: Connection<Data = Buf>,
{
    type Connection = S::Connection;
    type Epoch = RoundId;
    type LinkHandle = GroupLinkShared<B>;
    type Link = GroupLink<B>;
    type Input = Input;

    const NAME: &'static str = "rendezvous";

    fn link_handle(&self) -> &Arc<GroupLinkShared<B>> {
        &self.shared
    }

    fn handover(&mut self) -> &mut Handover<RoundId> {
        self.agreement.handover()
    }

    fn limits(&self) -> ChangeLimits {
        let limit = self.settings.handover_timeout;
        // A participant that takes no message must not hold up all other participants.
        ChangeLimits { building: limit, ending: limit, draining: Some(limit), receiving: None }
    }

    /// Returns an empty span: each participant proposes for its own reasons, and all participants follow the
    /// store.
    fn cause(&self) -> Span {
        Span::none()
    }

    fn stage(&mut self, round: RoundId) -> Staged<GroupLink<B>, RoundQueue> {
        // All messages that are sent in a staged round arrive here.
        let from_start = self.agreement.plan().is_some_and(|plan| plan.is_staged);
        self.shared.open_round(round, from_start, true)
    }

    fn build(&mut self, link: GroupLink<B>) -> BoxFuture<'static, Result<S::Connection, Error>> {
        let stack = self.stack.clone();
        let (picks, leads) =
            self.agreement.plan().map(|plan| (plan.picks.clone(), plan.leads)).unwrap_or_default();
        let receivers = self.sharing.as_ref().map_or(0, |sharing| sharing.board.lock().competing());
        // A stack that was given up may be under construction.
        self.notes = Arc::default();
        let notes = self.notes.clone();
        Box::pin(async move { build(&*stack, link, &picks, leads, receivers, &notes).await })
    }

    fn begin(&mut self, old: &Arc<RoundQueue>, new: &Arc<RoundQueue>) {
        self.progress.lock().begin(self.now(), new.id);
        let begun = self.now();
        match (&mut self.sharing, &old.share, &new.share) {
            (Some(sharing), Some(share), Some(next)) => {
                if next.has_part() {
                    new.hold_sends();
                    // The other participants may wait as long for missing messages.
                    sharing.held_until = Some(begun + self.settings.handover_timeout + sharing.quiet);
                }
                sharing.next = Some(new.clone());
                let sent = share.sent();
                let taken = share.taken();
                sharing.board.change(|statuses| statuses.begin(new.id, next.has_part(), sent, taken));
            }
            _ => new.limit_sends(self.channels.state.borrow().participants.len()),
        }
        if let Some(plan) = self.agreement.plan() {
            let agreement =
                Agreement::among(plan.leads, &self.stack.nodes(), plan.id.number, plan.picks.clone());
            let agreement = agreement.noting(self.notes.take());
            tracing::debug!(target: "bertha::negotiation", %agreement, "changed the stack");
            self.channels.state.send_modify(|state| state.agreement = Arc::new(agreement));
        }
    }

    fn await_rest(
        &mut self,
        _: &Arc<Epochs<S::Connection>>,
        old: &Arc<RoundQueue>,
    ) -> BoxFuture<'static, ()> {
        let to = self.agreement.handover().sends_in();
        let shared = self.shared.clone();
        let old = old.clone();
        if let (Some(sharing), Some(share)) = (&self.sharing, old.share.clone()) {
            let limits =
                TimeLimits { for_others: self.settings.handover_timeout, for_messages: sharing.quiet };
            return Box::pin(await_emptiness(shared, old, share, sharing.board.clone(), limits));
        }
        Box::pin(await_rest(shared, old, to, self.progress.clone(), self.settings.clone()))
    }

    /// Returns false: the store's events come through the participant.
    fn listens(&mut self) -> bool {
        // Where messages are shared, the agent leaves messages that the application does not ask for to other
        // receivers.
        self.sharing.is_none() && self.agreement.is_switching()
    }

    async fn transmit(&mut self) {
        if self.sharing.is_some() {
            return;
        }
        let progress = self.progress.lock().poll(self.now());
        if let Some(progress) = progress {
            self.shared.send_progress(&progress).await;
        }
    }

    async fn report(&mut self) {
        if let Some(sharing) = &mut self.sharing
            && std::mem::take(&mut sharing.wants_round)
            && let Err(error) = self.participant.begin_anew().await
        {
            tracing::debug!(target: "bertha::negotiation", %error, "no round was proposed");
        }
        while let Some(order) = self.agreement.poll_order() {
            // If the participant has been removed, an event says so.
            let told = match order {
                Order::Staged(round) => self.participant.staged(round).await,
                Order::Refuse(round, reason) => self.participant.refuse(round, reason).await,
                Order::Propose(picks) => {
                    let proposed = self.participant.propose(picks).await;
                    self.agreement.on_proposed(proposed, self.participant.has_events());
                    Ok(())
                }
            };
            if let Err(error) = told {
                tracing::debug!(target: "bertha::negotiation", %error, "the store was not told");
            }
        }
        if let Some(result) = self.agreement.poll_report()
            && let Some(report) = self.report.take()
        {
            let _ = report.send(result);
        }
    }

    /// Returns true if this end can leave now. A change that has begun is finished first, since the other
    /// participants count on this end. Where messages are shared they do not: an end that leaves receives no
    /// more, and the messages that it has not received go to other receivers as soon as it has left.
    fn is_over(&mut self) -> bool {
        let now = self.now();
        let has_begun = self.sharing.as_ref().is_some_and(|sharing| sharing.next.is_some());
        let may_leave = has_begun || !self.agreement.is_switching();
        self.leaving.as_ref().is_some_and(|it| may_leave || now >= it.deadline)
    }

    async fn input(&mut self) -> Input {
        let runtime = self.shared.base.base().runtime();
        let deadline = self.leaving.as_ref().map(|leaving| leaving.deadline);
        let next = match &self.sharing {
            None => self.progress.lock().next_time(),
            Some(sharing) => sharing.held_until.map(|_| runtime.now() + LOOK),
        };
        let next = next.into_iter().chain(deadline).min();
        let mut timer = pin!(
            async {
                match next {
                    Some(time) => runtime.sleep_until(time).await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let Channels { inbound, requests, leaving, .. } = &mut self.channels;
        let may_request = !self.agreement.has_request();
        let mut requested =
            pin!(async { if may_request { requests.recv().await } else { pending().await } }.fuse());
        let mut store = pin!(self.participant.next().fuse());
        select_biased! {
            leave = leaving.recv().fuse() => leave.map_or(Input::Ended, Input::Leave),
            event = store => Input::Store(event),
            progress = inbound.recv().fuse() => progress.map_or(Input::Ended, Input::Progress),
            request = requested => request.map_or(Input::Ended, Input::Request),
            () = timer => Input::Timer,
        }
    }

    fn on_input(&mut self, input: Input) -> ControlFlow<()> {
        match input {
            Input::Store(Some(event)) => {
                self.note(&event);
                if let Event::Stage { round, .. } = &event
                    && let Some(reason) = self.reason_to_stay()
                {
                    self.agreement.refuse(*round, reason);
                    return ControlFlow::Continue(());
                }
                if let Err(error) = self.agreement.on_event(event) {
                    self.shared.lifecycle.not_agreed(&error);
                    return ControlFlow::Break(());
                }
                if let Some(sharing) = &self.sharing
                    && self.agreement.is_switching()
                    && sharing.current.share.as_ref().is_some_and(|share| !share.has_part())
                    && sharing.next.is_none()
                {
                    sharing.current.refuse_sends();
                    self.shared.lifecycle.wake();
                }
            }
            // The participant has ended, and an event has given the reason.
            Input::Store(None) | Input::Ended => return ControlFlow::Break(()),
            Input::Progress(progress) => self.progress.lock().on_progress(self.now(), progress),
            Input::Request(AgentRequest { pick, report }) => {
                self.report = Some(report);
                self.agreement.on_request(pick);
            }
            Input::Leave(report) => {
                let deadline = self.now() + self.settings.handover_timeout;
                self.leaving = Some(Leaving { report, deadline, left: Ok(()) });
            }
            Input::Timer => self.lift_if_all_are_through(),
        }
        ControlFlow::Continue(())
    }

    fn on_built(&mut self, built: Result<(), Error>) -> ControlFlow<()> {
        match self.agreement.on_built(built) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                tracing::warn!(target: "bertha::negotiation", %error, "the stack in force can't be built");
                self.shared.lifecycle.not_agreed(&error);
                ControlFlow::Break(())
            }
        }
    }

    /// Does nothing: failures were logged, and the other participants go on.
    fn on_sends_ended(&mut self, _: Result<u64, Error>) {
        self.agreement.on_sends_ended();
    }

    fn on_receivers_left(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            if let Some(next) = sharing.next.take() {
                sharing.wants_round = next.share.as_ref().is_some_and(|share| !share.has_part());
                sharing.current = next;
            }
            sharing.board.change(|statuses| {
                statuses.change(|own| {
                    if let Some(before) = &mut own.before {
                        before.is_over = true;
                    }
                });
            });
        }
        self.agreement.on_receivers_left();
    }

    async fn end(&mut self, newest: &RoundQueue) {
        if let Some(report) = self.report.take() {
            let _ = report.send(Err(ended()));
        }
        if self.leaving.is_some() {
            let left = self.leave(newest).await;
            if let Some(leaving) = &mut self.leaving {
                leaving.left = left;
            }
        }
        self.shared.lifecycle.end(End::Closed);
    }

    fn ended(self) {
        if let Some(Leaving { report, left, .. }) = self.leaving {
            let _ = report.send(left);
        }
    }
}

/// Returns the error of a call on a connection that was left.
pub(super) fn ended() -> Error {
    Error::new(ErrorKind::Closed, "the connection has ended").at("rendezvous")
}
