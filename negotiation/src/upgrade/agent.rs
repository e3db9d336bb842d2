//! A kind of connection, as a change of stacks needs it.

use super::bottom::Bottom;
use super::epoch::Epochs;
use super::handover::Handover;
use bertha_core::{BoxFuture, Connection, Error};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tracing::Span;

/// The messages of one epoch, below the stacks of an agent's connection.
pub(super) type QueueOf<A> = <<A as Agent>::Bottom as Bottom>::Queue;

/// The bottom of one stack.
pub struct Staged<L, Q> {
    /// The connection that the stack is built on.
    pub link: L,
    /// The queue from which that receives.
    pub queue: Arc<Q>,
}

/// Time limits of a change.
#[derive(Debug, Clone, Copy)]
pub struct ChangeLimits {
    /// How long building a stack may take.
    pub building: Duration,
    /// How long sends under way may take, and draining a stack as well.
    pub ending: Duration,
}

/// A kind of connection: how its ends agree on a change of stacks, and what they build the stacks on. The
/// [shell](super::shell::Shell) asks it for everything in which connections of two ends and of many differ.
pub trait Agent: Send + 'static {
    /// The top of a stack.
    type Connection: Connection;
    /// The name of an epoch.
    type Epoch: Copy + PartialEq + Send;
    /// The link below the stacks.
    type Bottom: Bottom;
    /// The connection that a stack is built on.
    type Link: Send;
    /// The events that the agent waits for.
    type Input: Send;

    /// The part of the library that errors name.
    const NAME: &'static str;

    /// The link below the stacks.
    fn bottom(&self) -> &Arc<Self::Bottom>;

    /// The machine whose steps are carried out.
    fn handover(&mut self) -> &mut Handover<Self::Epoch>;

    /// The time limits of a change.
    fn limits(&self) -> ChangeLimits;

    /// The span in which the change under way was asked for, if that was here.
    fn cause(&self) -> Span;

    /// Carries out `Step::Stage`.
    fn stage(&mut self, epoch: Self::Epoch) -> Staged<Self::Link, QueueOf<Self>>;

    /// Carries out `Step::Build`.
    fn build(&mut self, link: Self::Link) -> BoxFuture<'static, Result<Self::Connection, Error>>;

    /// Prepares `Step::Begin`, after which this end sends in the epoch of `new`.
    fn begin(&mut self, old: &Arc<QueueOf<Self>>, new: &Arc<QueueOf<Self>>);

    /// Carries out `Step::AwaitRest`.
    fn await_rest(
        &mut self,
        epochs: &Arc<Epochs<Self::Connection>>,
        old: &Arc<QueueOf<Self>>,
    ) -> BoxFuture<'static, ()>;

    /// Whether something may be read for the agent while the application does not receive.
    fn listens(&mut self) -> bool;

    /// Sends what there is to be said. Before each step, so that no step is taken that was not announced.
    fn transmit(&mut self) -> impl Future<Output = ()> + Send;

    /// Tells the application and others what came of the steps so far.
    fn report(&mut self) -> impl Future<Output = ()> + Send;

    /// Whether the connection was left, as the application asked.
    fn is_over(&mut self) -> bool;

    /// Waits for what happens next. Cancellation-safe.
    fn input(&mut self) -> impl Future<Output = Self::Input> + Send;

    /// Deals with it. Breaks when the connection has ended.
    fn on_input(&mut self, input: Self::Input) -> ControlFlow<()>;

    /// The staged stack is built, or can't be. Breaks if this end can't go on without it.
    fn on_built(&mut self, built: Result<(), Error>) -> ControlFlow<()>;

    /// Sends in the old epoch have ended after so many messages, or could not be ended.
    fn on_sends_ended(&mut self, sent: Result<u64, Error>);

    /// No receiver is in the old stack any more.
    fn on_receivers_left(&mut self);

    /// The connection has ended; this end sent in the epoch of `newest`.
    fn end(&mut self, newest: &QueueOf<Self>) -> impl Future<Output = ()> + Send;

    /// Calls that waited for a change have been let go.
    fn ended(self);
}
