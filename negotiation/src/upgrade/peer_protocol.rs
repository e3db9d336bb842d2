//! Changing the stack between two ends: the [agreement with the peer](super::by_peer) over the link's control
//! messages, and the stacks on that link.

use super::by_peer::{ChangeTerms, PeerAgreement};
use super::epoch::Epochs;
use super::handover::Handover;
use super::link_handle::LinkHandle;
use super::pick::Pick;
use super::protocol::{ChangeLimits, Staged, UpgradeProtocol};
use super::steps::{LOOK, sleep};
use crate::Link;
use crate::link::{EpochQueue, Fork, LinkShared, Received};
use bertha_core::{
    Base, BoxFuture, Buf, Chunnel, ConnectContext, Connection, Error, ErrorKind, NotePlace, PeerLayers,
    Picks, Runtime, SecuredCell, resolve,
};
use futures_util::future::{FutureExt, pending, select};
use futures_util::select_biased;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tracing::Span;

/// Maximum time in which the base has to take a message about a change. A stream takes none while the peer
/// does not receive, and meanwhile calls wait for this end's next steps. A message that is given up is
/// repeated, as a lost message is.
const TRANSMIT_LIMIT: Duration = Duration::from_secs(1);

/// An application's request for other alternatives, with the sender of the answer.
pub(super) struct PeerRequest {
    pub(super) pick: Pick,
    pub(super) report: oneshot::Sender<Result<(), Error>>,
    /// The span of the request.
    pub(super) cause: Span,
}

/// An event that the protocol waits for.
pub(super) enum Input {
    Message(Received),
    Request(PeerRequest),
    Timer,
    Ended,
}

/// The protocol of a connection with two ends.
pub(super) struct PeerProtocol<S, B: Connection<Data = Buf>> {
    stack: Arc<S>,
    fork: Fork<B>,
    agreement: PeerAgreement,
    inbound: mpsc::Receiver<Received>,
    requests: mpsc::Receiver<PeerRequest>,
    /// The cell to which the secure Chunnel of the staged stack reports.
    secured: SecuredCell,
    /// The place for the notes of the staged stack.
    notes: Arc<NotePlace>,
    report: Option<oneshot::Sender<Result<(), Error>>>,
    /// The span of the request under way.
    cause: Span,
}

impl<S, B> PeerProtocol<S, B>
where
    S: Chunnel<Link<B>>,
    B: Connection<Data = Buf>,
{
    pub(super) fn new(
        stack: Arc<S>,
        fork: Fork<B>,
        inbound: mpsc::Receiver<Received>,
        requests: mpsc::Receiver<PeerRequest>,
    ) -> Self {
        let shared = &fork.shared;
        let settings = fork.shared.settings();
        let picks = shared.agreement().map(|agreement| agreement.picks().to_vec()).unwrap_or_default();
        let terms = ChangeTerms {
            id: shared.id(),
            role: shared.role(),
            nodes: stack.nodes(),
            requirements: shared.requirements(),
            may_lose: settings.may_lose,
            proposal_timeout: settings.handshake_timeout,
            repeat_after: settings.repeat_after,
        };
        let agreement = PeerAgreement::new(terms, picks);
        let secured = SecuredCell::default();
        let notes = Arc::default();
        let report = None;
        let cause = Span::none();
        Self { stack, fork, agreement, inbound, requests, secured, notes, report, cause }
    }

    fn now(&self) -> Instant {
        self.fork.shared.base().runtime().now()
    }
}

impl<S, B> UpgradeProtocol for PeerProtocol<S, B>
where
    S: Chunnel<Link<B>, Connection: Connection<Base = B::Base>> + 'static,
    B: Connection<Data = Buf>,
{
    type Connection = S::Connection;
    type Epoch = u64;
    type LinkHandle = LinkShared<B>;
    type Link = Link<B>;
    type Input = Input;

    const NAME: &'static str = "negotiation";

    fn link_handle(&self) -> &Arc<LinkShared<B>> {
        &self.fork.shared
    }

    fn handover(&mut self) -> &mut Handover<u64> {
        self.agreement.handover()
    }

    fn limits(&self) -> ChangeLimits {
        let settings = self.fork.shared.settings();
        let limit = settings.handshake_timeout;
        // Messages that a slow receiver has yet to take must not be lost, so a change lasts as long as the
        // receiver needs. A receiver that never takes them must not hold up the messages that it sends.
        let receiving = Some(settings.drain_timeout);
        ChangeLimits { building: limit, ending: limit, draining: None, receiving }
    }

    /// Returns the span of the request under way, also for a change that the peer has requested in the
    /// meantime, which this request then waits for.
    fn cause(&self) -> Span {
        self.cause.clone()
    }

    fn stage(&mut self, epoch: u64) -> Staged<Link<B>, EpochQueue> {
        let peer = self.fork.shared.base().peer_addr();
        tracing::debug!(target: "bertha::negotiation", %peer, epoch, "a change of the stack begins");
        let (link, queue) = self.fork.link(epoch);
        self.secured = self.fork.shared.stage_secured(&queue);
        Staged { link, queue }
    }

    fn build(&mut self, link: Link<B>) -> BoxFuture<'static, Result<S::Connection, Error>> {
        let agreed = self.agreement.agreed().cloned().unwrap_or_default();
        let stack = self.stack.clone();
        let shared = self.fork.shared.clone();
        let secured = self.secured.clone();
        // A stack that was given up may be under construction.
        self.notes = Arc::default();
        let notes = self.notes.clone();
        Box::pin(async move {
            let connector = shared.connector();
            let context = connector
                .as_ref()
                .map_or_else(ConnectContext::none, |context| ConnectContext::new(&**context, shared.role()));
            let peer = PeerLayers::new(resolve(&stack.nodes(), Picks::new(&agreed.picks)), agreed.peer);
            let context = context
                .with_transcript(Some(shared.session().transcript_of(&agreed.transcript)))
                .with_peer(Some(&peer))
                .with_secured(&secured)
                .with_registry(shared.session().registry())
                .with_notes(&notes);
            stack.instantiate(link, Picks::new(&agreed.picks), context).await
        })
    }

    fn begin(&mut self, _: &Arc<EpochQueue>, _: &Arc<EpochQueue>) {
        let shared = &self.fork.shared;
        let epoch = self.agreement.handover().sends_in();
        if let (Some(before), Some(agreed)) = (shared.agreement(), self.agreement.agreed()) {
            let agreement = before.renewed(&self.stack.nodes(), epoch, agreed.picks.clone());
            let agreement = agreement.noting(self.notes.take());
            let peer = shared.base().peer_addr();
            tracing::debug!(target: "bertha::negotiation", %peer, epoch, %agreement, "changed the stack");
            shared.agree(agreement);
        }
    }

    fn await_rest(
        &mut self,
        epochs: &Arc<Epochs<S::Connection>>,
        _: &Arc<EpochQueue>,
    ) -> BoxFuture<'static, ()> {
        let sent = self.agreement.peer_sent().unwrap_or_default();
        Box::pin(await_rest(epochs.clone(), self.fork.shared.clone(), sent))
    }

    /// Returns true: the peer's messages come over the same link as data.
    fn listens(&mut self) -> bool {
        !self.agreement.is_idle()
    }

    async fn transmit(&mut self) {
        while let Some(upgrade) = self.agreement.poll_transmit(self.now()) {
            let shared = &self.fork.shared;
            let ended = pin!(poll_fn(|context| shared.poll_ending(context)));
            let late = pin!(sleep(shared.base().runtime(), TRANSMIT_LIMIT));
            select(pin!(shared.say_upgrade(&upgrade)), select(ended, late)).await;
        }
    }

    async fn report(&mut self) {
        while let Some(result) = self.agreement.poll_report() {
            if let Err(error) = &result {
                let peer = self.fork.shared.base().peer_addr();
                tracing::debug!(target: "bertha::negotiation", %peer, %error, "a change of the stack was refused, or failed");
            }
            if let Some(report) = self.report.take() {
                let _ = report.send(result);
                self.cause = Span::none();
            }
        }
    }

    fn is_over(&mut self) -> bool {
        false
    }

    async fn input(&mut self) -> Input {
        let shared = &self.fork.shared;
        let deadline = self.agreement.poll_timeout();
        let may_request = !self.agreement.has_request();
        let mut timer = pin!(
            async {
                match deadline {
                    Some(deadline) => shared.base().runtime().sleep_until(deadline).await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let requests = &mut self.requests;
        let mut requested =
            pin!(async { if may_request { requests.recv().await } else { pending().await } }.fuse());
        let mut ended = pin!(poll_fn(|context| shared.poll_ending(context)).fuse());
        select_biased! {
            // The peer may have begun the next epoch right before the end.
            upgrade = self.inbound.recv().fuse() => upgrade.map_or(Input::Ended, Input::Message),
            _ = ended => Input::Ended,
            request = requested => request.map_or(Input::Ended, Input::Request),
            () = timer => Input::Timer,
        }
    }

    fn on_input(&mut self, input: Input) -> ControlFlow<()> {
        let now = self.now();
        match input {
            Input::Message(received) => {
                if self.fork.shared.is_valid_still(&received) {
                    self.agreement.on_message(now, received.upgrade);
                }
            }
            Input::Request(PeerRequest { pick, report, cause }) => {
                (self.report, self.cause) = (Some(report), cause);
                self.agreement.on_request(now, pick);
            }
            Input::Timer => {}
            Input::Ended => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn on_built(&mut self, built: Result<(), Error>) -> ControlFlow<()> {
        self.agreement.on_built(self.now(), built);
        ControlFlow::Continue(())
    }

    fn on_sends_ended(&mut self, sent: Result<u64, Error>) {
        // The stack is committed before it is announced, so that the announcement has a proof: the peer has
        // built the stack as well.
        if sent.is_ok() {
            self.fork.shared.commit_secured();
        }
        self.agreement.on_sends_ended(self.now(), sent);
    }

    fn on_receivers_left(&mut self) {
        self.agreement.on_receivers_left(self.now());
    }

    async fn end(&mut self, _: &EpochQueue) {}

    fn ended(self) {
        if let (Some(report), Err(error)) = (self.report, self.fork.shared.check()) {
            let _ = report.send(Err(error));
        }
    }
}

impl<B: Connection<Data = Buf>> LinkHandle for LinkShared<B> {
    type Queue = EpochQueue;
    type Base = B::Base;

    fn base(&self) -> &B::Base {
        LinkShared::base(self)
    }

    fn has_ended(&self) -> bool {
        self.check().is_err_and(|error| error.ends_connection())
    }

    fn is_ending(&self) -> bool {
        self.has_ended() || LinkShared::is_ending(self)
    }

    fn finish(&self, old: &EpochQueue) {
        LinkShared::finish(self, old);
    }

    fn set_active(&self, queue: &EpochQueue, is_active: bool) {
        queue.set_active(is_active);
    }

    fn ends_with_stack(&self) -> bool {
        true
    }

    fn messages_lost(&self, error: &Error) {
        LinkShared::messages_lost(self, error);
    }

    fn read_for_others(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.read_one_for_others()
    }

    /// Returns false: the count of messages says that the old stack is empty.
    fn complete(&self, _: &EpochQueue, _: &EpochQueue) -> bool {
        false
    }

    fn read_through(&self, old: &EpochQueue, new: &EpochQueue) {
        LinkShared::read_through(self, old, new);
    }

    fn forget(&self, queue: &Arc<EpochQueue>) {
        LinkShared::forget(self, queue);
    }
}

/// Maximum pause before the task notices that the application polls its call again.
const LONGEST_LOOK: Duration = Duration::from_millis(16);

/// Waits until as many messages were received in the epoch as were sent in it, or until no message has come
/// for the whole time-out while a call waited for messages. Time without such a call does not count, since a
/// Chunnel may hold messages for an application that does not receive.
async fn await_rest<C, B: Connection<Data = Buf>>(
    epochs: Arc<Epochs<C>>,
    shared: Arc<LinkShared<B>>,
    sent: u64,
) {
    let mut before = epochs.receiving.total();
    let mut waited = Duration::ZERO;
    let mut pause = LOOK;
    while before < sent {
        sleep(LinkShared::base(&shared).runtime(), pause).await;
        let received = epochs.receiving.total();
        if received != before {
            (before, waited, pause) = (received, Duration::ZERO, LOOK);
        } else if epochs.receiving.take_attended()
            && shared.has_parked_recv()
            && !epochs.receiving.is_closed()
        {
            (waited, pause) = (waited + LOOK, LOOK);
        } else if epochs.receiving.is_closed() {
            // The application may not receive for long; its first call ends this wait.
            poll_fn(|context| epochs.receiving.poll_attendable(context)).await;
            pause = LOOK;
        } else {
            // A call is there and is not polled. A wake-up by it would make all calls slower.
            pause = (pause * 2).min(LONGEST_LOOK);
        }
        if waited >= shared.settings().drain_timeout {
            tracing::debug!(target: "bertha::negotiation", received, sent, "messages before a change of stacks are missing");
            return;
        }
    }
}

/// Returns the error of a request to a connection that has ended.
pub(super) fn ended() -> Error {
    Error::new(ErrorKind::Closed, "the connection has ended").at("negotiation")
}
