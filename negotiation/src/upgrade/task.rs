//! The task that changes the stack of a connection: it carries out the steps of the
//! [handover](super::handover), both for two ends and for any number of participants.

use super::epoch::{Epoch, Epochs, LastEpochUnknown};
use super::handover::{Last, Step};
use super::link_handle::LinkHandle;
use super::protocol::{QueueOf, Staged, UpgradeProtocol};
use super::steps::{Ending, end_sending, leave, leave_after_end, read_meanwhile, read_old, sleep, within};
use crate::span;
use bertha_core::{Base, BoxFuture, Error};
use futures_util::future::{FutureExt, pending};
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, select_biased};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use tracing::{Instrument, Span};

/// An epoch, and the queue below its stack.
struct Stage<C, Q> {
    epoch: Arc<Epoch<C>>,
    queue: Arc<Q>,
    /// The headroom that the stack has reserved, in bytes.
    reserved: usize,
}

/// The epoch to which the connection may change.
struct Next<C, L, Q> {
    queue: Arc<Q>,
    /// The link, until its stack is being built.
    link: Option<L>,
    /// The epoch, once its stack is built.
    epoch: Option<Arc<Epoch<C>>>,
    /// The headroom that was reserved before, in bytes. Nothing else reserves headroom during the change.
    reserved_before: usize,
    /// The span of the change, until the old stack has gone.
    span: Span,
}

/// The stack that receivers have left, until it is dropped.
struct Old<C, Q> {
    stage: Stage<C, Q>,
    /// The span of the change.
    span: Span,
}

/// A step that took time, with its result.
enum Done<E> {
    SendsEnded(Result<u64, Error>),
    RestReceived,
    /// The time in which receivers wait for the end of sends before the change to this epoch is over.
    SendsAreLate(E),
    ReceiversLeft,
}

enum Event<I, C, E> {
    Input(I),
    Built(Result<C, Error>),
    Done(Done<E>),
    LinkEnded,
}

type EventOf<P> =
    Event<<P as UpgradeProtocol>::Input, <P as UpgradeProtocol>::Connection, <P as UpgradeProtocol>::Epoch>;

/// An epoch, and the queue below its stack.
type StackOf<P> = (Arc<Epoch<<P as UpgradeProtocol>::Connection>>, Arc<QueueOf<P>>);

/// The task.
pub(crate) struct UpgradeTask<P: UpgradeProtocol> {
    protocol: P,
    epochs: Arc<Epochs<P::Connection>>,
    /// The stack in which this end receives.
    current: Stage<P::Connection, QueueOf<P>>,
    next: Option<Next<P::Connection, P::Link, QueueOf<P>>>,
    old: Option<Old<P::Connection, QueueOf<P>>>,
    building: Option<BoxFuture<'static, Result<P::Connection, Error>>>,
    work: FuturesUnordered<BoxFuture<'static, Done<P::Epoch>>>,
}

impl<P: UpgradeProtocol> UpgradeTask<P> {
    /// Makes the task of a connection whose first stack, `connection`, receives from `queue` and has reserved
    /// `reserved` bytes of headroom.
    pub(crate) fn new(
        protocol: P,
        connection: P::Connection,
        queue: Arc<QueueOf<P>>,
        reserved: usize,
    ) -> Self {
        let current = Stage { epoch: Epoch::new(connection), queue, reserved };
        let link = protocol.link_handle().clone();
        let epochs = Arc::new(Epochs::new(&current.epoch, move || link.has_ended()));
        let (next, old, building) = (None, None, None);
        Self { protocol, epochs, current, next, old, building, work: FuturesUnordered::new() }
    }

    /// Returns the epochs through which the application sends and receives.
    pub(crate) fn epochs(&self) -> Arc<Epochs<P::Connection>> {
        self.epochs.clone()
    }

    /// Serves the connection until it ends.
    pub(crate) async fn run(mut self) {
        let last_epoch_unknown = LastEpochUnknown(self.epochs.clone());
        loop {
            self.protocol.transmit().await;
            if let Some(step) = self.protocol.handover().poll_step() {
                self.perform(step);
                continue;
            }
            self.protocol.report().await;
            if self.protocol.is_over() {
                break;
            }
            let flow = match self.event().await {
                Event::Input(input) => self.protocol.on_input(input),
                Event::Built(built) => self.on_built(built),
                Event::Done(done) => {
                    self.on_done(done);
                    ControlFlow::Continue(())
                }
                Event::LinkEnded => ControlFlow::Break(()),
            };
            if flow.is_break() {
                break;
            }
        }
        let handle = self.protocol.link_handle().clone();
        let (newest, newest_queue) = self.sends_in();
        self.protocol.end(&newest_queue).await;
        // Calls that wait for a change find the end of the link.
        self.epochs.sending.reopen(&newest);
        self.work.clear();
        let last = self.last_stack(&*handle);
        drop(last_epoch_unknown);
        self.epochs.receiving.reopen(&self.current.epoch);
        self.protocol.ended();
        if let Some((epoch, queue)) = last {
            leave_after_end(&self.epochs, handle.runtime()).await;
            handle.read_through(&self.current.queue, &queue);
            self.epochs.receiving.open(&epoch);
        }
    }

    /// Returns the epoch in which this end sends, and its queue.
    fn sends_in(&mut self) -> StackOf<P> {
        let is_current = self.protocol.handover().sends_in_current();
        let old = self.old.as_ref().map(|old| (&old.stage.epoch, &old.stage.queue));
        let next = self.next.as_ref().and_then(|next| Some((next.epoch.as_ref()?, &next.queue)));
        let other = if is_current { None } else { old.or(next) };
        let (epoch, queue) = other.unwrap_or((&self.current.epoch, &self.current.queue));
        (epoch.clone(), queue.clone())
    }

    /// Returns the stack whose messages come behind the messages of the current stack, if the link has ended
    /// and there is such a stack. The current stack runs dry then. A stack that was only staged is given up.
    fn last_stack(&mut self, handle: &P::LinkHandle) -> Option<StackOf<P>> {
        let last = self.protocol.handover().last();
        let next = self.next.take()?;
        let Some(epoch) = next.epoch.filter(|_| last != Last::Current && handle.is_ending()) else {
            if handle.is_ending() {
                // The close of the peer does not wait for messages that nobody receives.
                handle.forget(&next.queue);
            }
            return None;
        };
        if let Last::Either(_) = last {
            epoch.may_be_unused(&self.current.epoch);
        }
        self.current.epoch.end();
        handle.finish(&self.current.queue);
        Some((epoch, next.queue))
    }

    async fn event(&mut self) -> EventOf<P> {
        let may_read = self.protocol.listens() && !self.protocol.handover().is_leaving();
        let handle = self.protocol.link_handle().clone();
        let epochs = &self.epochs;
        let current = &self.current.epoch;
        let old = self.old.as_ref().map(|old| &old.stage.epoch);
        let building = &mut self.building;
        let mut reading = pin!(
            async {
                if may_read { read_meanwhile(epochs, current, &*handle).await } else { pending().await }
            }
            .fuse()
        );
        let mut reading_old = pin!(
            async {
                match old {
                    Some(old) => read_old(old, handle.runtime()).await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let mut built = pin!(
            async {
                match building {
                    Some(building) => building.await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let mut input = pin!(self.protocol.input().fuse());
        select_biased! {
            input = input => Event::Input(input),
            done = self.work.select_next_some() => Event::Done(done),
            built = built => Event::Built(built),
            _ = reading => Event::LinkEnded,
            never = reading_old => match never {},
        }
    }

    fn on_built(&mut self, built: Result<P::Connection, Error>) -> ControlFlow<()> {
        self.building = None;
        let built = built.map(|connection| {
            if let Some(next) = &mut self.next {
                next.epoch = Some(Epoch::new(connection));
            }
        });
        self.protocol.on_built(built)
    }

    fn on_done(&mut self, done: Done<P::Epoch>) {
        match done {
            Done::SendsEnded(sent) => self.protocol.on_sends_ended(sent),
            Done::RestReceived => self.protocol.handover().rest_received(),
            Done::SendsAreLate(to) => {
                if self.protocol.handover().sends_are_late(to) {
                    tracing::warn!(
                        target: "bertha::negotiation",
                        "the other end takes no messages, so receivers change the stack before sends"
                    );
                }
            }
            Done::ReceiversLeft => self.protocol.on_receivers_left(),
        }
    }

    fn perform(&mut self, step: Step<P::Epoch>) {
        let handle = self.protocol.link_handle().clone();
        let base = handle.base();
        let limits = self.protocol.limits();
        match step {
            Step::Stage(epoch) => {
                let span = span::changing(&self.protocol.cause());
                let Staged { link, queue } = self.protocol.stage(epoch);
                let reserved_before = base.reserved();
                self.next = Some(Next { queue, link: Some(link), epoch: None, reserved_before, span });
            }
            Step::Build => {
                let Some(Next { link, span, .. }) = &mut self.next else { return };
                let Some(link) = link.take() else { return };
                let building = self.protocol.build(link);
                let runtime = handle.runtime().clone();
                let building = async move {
                    let what = "a Chunnel did not get ready in time";
                    within(&runtime, limits.building, P::NAME, what, building).await
                };
                self.building = Some(Box::pin(building.instrument(span.clone())));
            }
            Step::Discard => {
                self.building = None;
                if let Some(next) = self.next.take() {
                    let peer = base.peer_addr();
                    tracing::debug!(target: "bertha::negotiation", %peer, "a change of the stack was given up");
                    handle.forget(&next.queue);
                    base.release(base.reserved().saturating_sub(next.reserved_before));
                }
            }
            Step::EndSending { may_fail } => {
                let epochs = self.epochs.clone();
                let old = self.current.epoch.clone();
                let ending = Ending { limits, may_fail, name: P::NAME };
                let handle = handle.clone();
                self.work.push(Box::pin(async move {
                    Done::SendsEnded(end_sending(epochs, old, handle, ending).await)
                }));
            }
            Step::Begin(_) => {
                let next = self.next.as_ref().and_then(|next| Some((next.epoch.as_ref()?, &next.queue)));
                let (old, (new, queue)) = match (&self.old, next) {
                    (Some(old), _) => (&old.stage.queue, (&self.current.epoch, &self.current.queue)),
                    (None, Some(next)) => (&self.current.queue, next),
                    (None, None) => return,
                };
                self.protocol.begin(old, queue);
                self.epochs.begin(new, || handle.set_active(queue, true), || handle.set_active(old, false));
            }
            Step::AwaitRest => {
                let awaiting = self.protocol.await_rest(&self.epochs, &self.current.queue);
                self.work.push(Box::pin(awaiting.map(|()| Done::RestReceived)));
            }
            Step::AwaitSends(to) => {
                if let Some(limit) = limits.receiving {
                    let runtime = handle.runtime().clone();
                    self.work.push(Box::pin(async move {
                        sleep(&runtime, limit).await;
                        Done::SendsAreLate(to)
                    }));
                }
            }
            Step::LeaveOld => {
                let Some(next) = &self.next else { return };
                let dry = handle.complete(&self.current.queue, &next.queue);
                if dry {
                    self.current.epoch.end();
                }
                let epochs = self.epochs.clone();
                let old = self.current.epoch.clone();
                let leaving = leave(epochs, old, handle.runtime().clone(), dry);
                self.work.push(Box::pin(leaving.map(|()| Done::ReceiversLeft)));
            }
            Step::Enter => {
                let Some(Next { queue, epoch: Some(epoch), reserved_before, span, .. }) = self.next.take()
                else {
                    return;
                };
                handle.read_through(&self.current.queue, &queue);
                self.epochs.receiving.open(&epoch);
                let reserved = base.reserved().saturating_sub(reserved_before);
                let stage = std::mem::replace(&mut self.current, Stage { epoch, queue, reserved });
                self.old = Some(Old { stage, span });
            }
            Step::Retire => {
                let Some(Old { stage, span }) = self.old.take() else { return };
                span.record("changed", true);
                // The old stack is dropped and not closed: all ends have drained it, and a Chunnel that
                // announced its end to its counterparts would end stacks that the receivers there have not
                // left yet.
                handle.forget(&stage.queue);
                base.release(stage.reserved);
            }
        }
    }
}
