//! The part of a change of stacks in which connections of two ends and of many differ.

use super::epoch::Epochs;
use super::handover::Handover;
use super::link_handle::LinkHandle;
use bertha_core::{BoxFuture, Connection, Error};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tracing::Span;

/// The messages of one epoch, below the stacks of a protocol's connection.
pub(super) type QueueOf<A> = <<A as UpgradeProtocol>::LinkHandle as LinkHandle>::Queue;

/// The bottom of one stack.
pub(crate) struct Staged<L, Q> {
    /// The connection that the stack is built on.
    pub link: L,
    /// The queue from which the connection receives.
    pub queue: Arc<Q>,
}

/// Time limits of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangeLimits {
    /// Time limit of building a stack.
    pub building: Duration,
    /// Time limit of sends under way, and of draining a stack, as long as the step may fail.
    pub ending: Duration,
    /// Time limit of draining a stack once the step may not fail, after which the messages that the stack
    /// still holds are lost. `None` if the step waits for as long as the connection lasts.
    pub draining: Option<Duration>,
    /// Time that receivers wait in the old stack, all of whose messages they have received, for the end of
    /// this end's sends. After that they change alone. `None` if they wait for as long as the step takes.
    pub receiving: Option<Duration>,
}

/// The agreement of a connection's ends on a change of stacks, and the link on which the ends build the
/// stacks. The [task](super::task::UpgradeTask) leaves to the protocol all work in which connections of two
/// ends and of many differ.
pub(crate) trait UpgradeProtocol: Send + 'static {
    /// The top of a stack.
    type Connection: Connection;
    /// The name of an epoch.
    type Epoch: Copy + PartialEq + Send;
    /// The link below the stacks.
    type LinkHandle: LinkHandle;
    /// The connection that a stack is built on.
    type Link: Send;
    /// The events that the protocol waits for.
    type Input: Send;

    /// The part of the library that errors name.
    const NAME: &'static str;

    /// Returns the link below the stacks.
    fn link_handle(&self) -> &Arc<Self::LinkHandle>;

    /// Returns the machine whose steps are carried out.
    fn handover(&mut self) -> &mut Handover<Self::Epoch>;

    /// Returns the time limits of a change.
    fn limits(&self) -> ChangeLimits;

    /// Returns the span in which the change under way was requested, if this end requested it.
    fn cause(&self) -> Span;

    /// Carries out `Step::Stage`.
    fn stage(&mut self, epoch: Self::Epoch) -> Staged<Self::Link, QueueOf<Self>>;

    /// Carries out `Step::Build`.
    fn build(&mut self, link: Self::Link) -> BoxFuture<'static, Result<Self::Connection, Error>>;

    /// Prepares `Step::Begin`, after which this end sends in the epoch of `new`, and `new` is
    /// [active](LinkHandle::set_active) in place of `old`.
    fn begin(&mut self, old: &Arc<QueueOf<Self>>, new: &Arc<QueueOf<Self>>);

    /// Carries out `Step::AwaitRest`.
    fn await_rest(
        &mut self,
        epochs: &Arc<Epochs<Self::Connection>>,
        old: &Arc<QueueOf<Self>>,
    ) -> BoxFuture<'static, ()>;

    /// Returns true if messages may be read for the protocol while the application does not receive.
    fn listens(&mut self) -> bool;

    /// Sends pending messages. It is called before each step, so that no step is taken that was not
    /// announced.
    fn transmit(&mut self) -> impl Future<Output = ()> + Send;

    /// Reports the results of the steps so far to the application and the peers.
    fn report(&mut self) -> impl Future<Output = ()> + Send;

    /// Returns true if the connection was left, as the application requested.
    fn is_over(&mut self) -> bool;

    /// Waits for the next event. Cancellation-safe.
    fn input(&mut self) -> impl Future<Output = Self::Input> + Send;

    /// Handles an event. Breaks when the connection has ended.
    fn on_input(&mut self, input: Self::Input) -> ControlFlow<()>;

    /// Handles that the staged stack is built, or can't be built. Breaks if this end can't go on without it.
    fn on_built(&mut self, built: Result<(), Error>) -> ControlFlow<()>;

    /// Handles that sends in the old epoch have ended after this number of messages, or could not be ended.
    fn on_sends_ended(&mut self, sent: Result<u64, Error>);

    /// Handles that no receiver is in the old stack any more.
    fn on_receivers_left(&mut self);

    /// Handles the end of the connection; this end sent in the epoch of `newest`.
    fn end(&mut self, newest: &QueueOf<Self>) -> impl Future<Output = ()> + Send;

    /// Handles that calls that waited for a change have returned.
    fn ended(self);
}
