//! The stack whose connections can change to other alternatives.

use super::connection::Switching;
use super::peer_protocol::PeerProtocol;
use super::task::UpgradeTask;
use crate::Link;
use bertha_core::{
    Base, BoxFuture, Buf, Chunnel, ConnectContext, Connection, Describe, Error, Node, Picks, Runtime,
    Situation, preferred,
};
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Maximum length of the queue of the peer's messages about changes. The peer repeats messages that found no
/// room.
const INBOUND: usize = 32;

/// Maximum length of the queue of the application's requests.
const REQUESTS: usize = 8;

/// The reason why no layer is steered: the peers count the messages of a stack that they leave, and messages
/// to siblings are not among those that the link has counted.
const CHANGES: &str = "the stack can change while it is in use, which steering does not follow";

/// A stack whose connections can change to other alternatives of its `select!`s while they are in use. Made
/// by [`upgradable`](crate::Negotiate::upgradable), on both ends.
///
/// It is cheap to clone. The other end sees the stack inside.
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
        let first = into.len();
        self.stack.describe(into);
        into[first..].iter_mut().for_each(|node| node.lack_steering(CHANGES));
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
        let picks = preferred(&self.nodes(), &Situation::TWO_ENDS);
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
            let (to_agent, inbound) = mpsc::channel(INBOUND);
            let (requests, requested) = mpsc::channel(REQUESTS);
            let fork = inner.fork(to_agent);
            let shared = fork.shared.clone();
            let queue = fork.first();
            let before = shared.base().reserved();
            let first = self.stack.instantiate(inner, picks, context).await?;
            let reserved = shared.base().reserved().saturating_sub(before);
            let protocol = PeerProtocol::new(self.stack.clone(), fork, inbound, requested);
            let upgrade_task = UpgradeTask::new(protocol, first, queue, reserved);
            let epochs = upgrade_task.epochs();
            let task = shared.base().runtime().spawn(upgrade_task.run());
            Ok(Switching { epochs, shared, requests, _shell: task })
        })
    }
}
