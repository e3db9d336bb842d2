//! The stack whose connections can change theirs.

use super::Switching;
use super::agent::Agent;
use super::round::{Round, Rounds};
use crate::Link;
use bertha_core::{
    Base, BoxFuture, Buf, Chunnel, ConnectContext, Connection, Describe, Error, Node, Picks, Preference,
    Runtime, preferred,
};
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// How many messages about changes wait for the agent; their senders repeat them.
const HEARD: usize = 32;

/// How many wishes of the application wait for the agent.
const WISHES: usize = 8;

/// A stack whose connections can change to other alternatives of its `select!`s while they are in use. Made by
/// [`upgradable`](crate::Negotiate::upgradable), on both ends.
///
/// Cheap to clone. To the other end it is the stack that it was made of.
pub struct Upgradable<S> {
    stack: Arc<S>,
}

impl<S> Upgradable<S> {
    pub(crate) fn new(stack: S) -> Self {
        Self { stack: Arc::new(stack) }
    }
}

impl<S> Clone for Upgradable<S> {
    fn clone(&self) -> Self {
        Self { stack: self.stack.clone() }
    }
}

impl<S: Describe> Describe for Upgradable<S> {
    fn describe(&self, into: &mut Vec<Node>) {
        self.stack.describe(into);
    }

    fn selects(&self) -> usize {
        self.stack.selects()
    }
}

impl<S: Describe> fmt::Debug for Upgradable<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.explain())
    }
}

impl<S, B> Chunnel<Link<B>> for Upgradable<S>
where
    S: Chunnel<Link<B>, Connection: Connection<Base = B::Base>> + 'static,
    B: Connection<Data = Buf>,
{
    type Connection = Switching<S::Connection, B>;

    async fn connect_wrap(
        &self,
        inner: Link<B>,
        context: ConnectContext<'_, Link<B>>,
    ) -> Result<Self::Connection, Error> {
        let picks = preferred(&self.nodes(), Preference::TWO_ENDS);
        self.instantiate(inner, Picks::new(&picks), context).await
    }

    fn instantiate<'a>(
        &'a self,
        inner: Link<B>,
        picks: Picks<'a>,
        context: ConnectContext<'a, Link<B>>,
    ) -> BoxFuture<'a, Result<Self::Connection, Error>>
    where
        Link<B>: 'a,
    {
        Box::pin(async move {
            let (to_agent, heard) = mpsc::channel(HEARD);
            let (wishes, wished) = mpsc::channel(WISHES);
            let fork = inner.fork(to_agent);
            let shared = fork.shared.clone();
            let before = shared.base().reserved();
            let first = Round::new(self.stack.instantiate(inner, picks, context).await?);
            let reserved = shared.base().reserved().saturating_sub(before);
            let rounds = Arc::new(Rounds::new(&first));
            let agent =
                Agent::new(self.stack.clone(), fork, rounds.clone(), (first, reserved), (heard, wished));
            let agent = shared.base().runtime().spawn(agent.run());
            Ok(Switching { rounds, shared, wishes, _agent: agent })
        })
    }
}
