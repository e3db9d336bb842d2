//! The task that changes the stack of a connection: it carries out the steps of the
//! [handover](super::handover), both for two ends and for any number of participants.

use super::epoch::{Epoch, Epochs, LastEpochUnknown};
use super::handover::Step;
use super::link_handle::LinkHandle;
use super::protocol::{QueueOf, Staged, UpgradeProtocol};
use super::steps::{Ending, end_sending, leave, leave_after_end, read_meanwhile, within};
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

/// A step that took time, with its result.
enum Done {
    SendsEnded(Result<u64, Error>),
    RestReceived,
    ReceiversLeft,
}

enum Event<I, C> {
    Input(I),
    Built(Result<C, Error>),
    Done(Done),
    LinkEnded,
}

/// The task.
pub(crate) struct UpgradeTask<P: UpgradeProtocol> {
    protocol: P,
    epochs: Arc<Epochs<P::Connection>>,
    current: Stage<P::Connection, QueueOf<P>>,
    next: Option<Next<P::Connection, P::Link, QueueOf<P>>>,
    building: Option<BoxFuture<'static, Result<P::Connection, Error>>>,
    work: FuturesUnordered<BoxFuture<'static, Done>>,
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
        Self { protocol, epochs, current, next: None, building: None, work: FuturesUnordered::new() }
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
        let current = self.protocol.handover().current();
        let has_begun = self.protocol.handover().sends_in() != current;
        let newest = self.next.as_ref().filter(|_| has_begun).map_or(&self.current.queue, |next| &next.queue);
        let handle = self.protocol.link_handle().clone();
        self.protocol.end(newest).await;
        // The peer may have begun the next epoch before the end, and the announcement may be lost.
        let next = self.next.and_then(|next| next.epoch).filter(|_| handle.has_ended());
        let last = next.as_ref().unwrap_or(&self.current.epoch);
        self.epochs.set_newest(last);
        // Calls that wait for a change find the end of the link.
        self.epochs.sending.open(last);
        self.work.clear();
        if next.is_some() {
            self.current.epoch.end();
        }
        drop(last_epoch_unknown);
        self.epochs.receiving.reopen(&self.current.epoch);
        self.protocol.ended();
        if let Some(next) = next {
            leave_after_end(&self.epochs, handle.runtime()).await;
            self.epochs.receiving.open(&next);
        }
    }

    async fn event(&mut self) -> Event<P::Input, P::Connection> {
        let may_read = self.protocol.listens() && !self.protocol.handover().is_leaving();
        let handle = self.protocol.link_handle().clone();
        let epochs = &self.epochs;
        let current = &self.current.epoch;
        let building = &mut self.building;
        let mut reading = pin!(
            async {
                if may_read { read_meanwhile(epochs, current, &*handle).await } else { pending().await }
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

    fn on_done(&mut self, done: Done) {
        match done {
            Done::SendsEnded(sent) => self.protocol.on_sends_ended(sent),
            Done::RestReceived => self.protocol.handover().rest_received(),
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
                let Some(Next { epoch: Some(new), queue, .. }) = &self.next else { return };
                self.protocol.begin(&self.current.queue, queue);
                self.epochs.set_newest(new);
                self.epochs.sending.open(new);
            }
            Step::AwaitRest => {
                let awaiting = self.protocol.await_rest(&self.epochs, &self.current.queue);
                self.work.push(Box::pin(awaiting.map(|()| Done::RestReceived)));
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
            Step::Retire => {
                let Some(Next { queue, epoch: Some(epoch), reserved_before, span, .. }) = self.next.take()
                else {
                    return;
                };
                span.record("changed", true);
                handle.read_through(&self.current.queue, &queue);
                self.epochs.receiving.open(&epoch);
                let reserved = base.reserved().saturating_sub(reserved_before);
                let retired = std::mem::replace(&mut self.current, Stage { epoch, queue, reserved });
                // The old stack is dropped and not closed: all ends have drained it, and a Chunnel that
                // announced its end to its counterparts would end stacks that the receivers there have not
                // left yet.
                handle.forget(&retired.queue);
                base.release(retired.reserved);
            }
        }
    }
}
