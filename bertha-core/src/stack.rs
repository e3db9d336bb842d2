//! The Chunnel stack: a list of Chunnels, top first, known to the compiler.

use crate::chunnel::wrap_preferred;
use crate::identity::{Reserved, kind};
use crate::picks::{Picks, resolve};
use crate::{
    Addr, BoxFuture, Chunnel, ConnectContext, Connected, Connection, Connector, Describe, Error, Identity,
    Node, Roaming,
};
use std::fmt;

/// A stack with `Head` on top of the rest. Made by [`make_stack!`](crate::make_stack); a stack is itself a Chunnel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stack<Head, Tail> {
    head: Head,
    tail: Tail,
}

/// The end of a stack: the connection below it, unchanged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Bottom;

impl<Head: Describe, Tail> Stack<Head, Tail> {
    /// Puts `head` on top of `tail`.
    // The bound makes the compiler point at the element that is no Chunnel, rather than at the first use of
    // the stack.
    pub const fn new(head: Head, tail: Tail) -> Self {
        Self { head, tail }
    }
}

impl<Head, Tail> Stack<Head, Tail> {
    /// Returns the topmost Chunnel.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the Chunnels below the topmost.
    pub const fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Splits the stack into the topmost Chunnel and the Chunnels below it.
    pub fn into_parts(self) -> (Head, Tail) {
        (self.head, self.tail)
    }

    /// Works as [`new`](Self::new), for code that is generic over both parts.
    pub(crate) const fn from_parts(head: Head, tail: Tail) -> Self {
        Self { head, tail }
    }
}

impl Identity for Bottom {
    type Id = Reserved;
    type Parameters = ();
    type Guarantees = ();
    type Kind = kind::List;
    const NAME: &'static str = "bertha-core::Bottom";
}

/// A stack has the guarantees of all its Chunnels, except the guarantees that a Chunnel above withdraws.
impl<Head: Identity, Tail: Identity> Identity for Stack<Head, Tail> {
    type Id = Reserved;
    type Parameters = ();
    type Guarantees = (Head::Guarantees, Tail::Guarantees);
    type Kind = kind::List;
    const NAME: &'static str = "bertha-core::Stack";
}

impl Describe for Bottom {
    fn describe(&self, _: &mut Vec<Node>) {}

    fn layers(&self) -> usize {
        0
    }
}

impl<Head: Describe, Tail: Describe> Describe for Stack<Head, Tail> {
    fn describe(&self, into: &mut Vec<Node>) {
        self.head.describe(into);
        self.tail.describe(into);
    }

    fn selects(&self) -> usize {
        self.head.selects() + self.tail.selects()
    }

    fn notes(&self, into: &mut Vec<String>) {
        self.head.notes(into);
        self.tail.notes(into);
    }
}

/// The output is a flat list, since nested values would be hard to read.
impl<Head: Describe, Tail: Describe> fmt::Debug for Stack<Head, Tail> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.explain())
    }
}

impl fmt::Debug for Bottom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[]")
    }
}

impl<Inner: Connection> Chunnel<Inner> for Bottom {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

impl<Head, Tail, Inner> Chunnel<Inner> for Stack<Head, Tail>
where
    Inner: Connection,
    Tail: Chunnel<Inner>,
    Head: Chunnel<Tail::Connection>,
{
    type Connection = Head::Connection;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        wrap_preferred(self, inner, context).await
    }

    fn instantiate<'a>(
        &'a self,
        inner: Inner,
        picks: Picks<'a>,
        context: ConnectContext<'a, Inner>,
    ) -> BoxFuture<'a, Result<Self::Connection, Error>>
    where
        Inner: 'a,
    {
        Box::pin(async move {
            let tail = ThroughTail { tail: &self.tail, picks: picks.skip(self.head.selects()), context };
            let below = self.tail.instantiate(inner, tail.picks, context).await?;
            self.head.instantiate(below, picks, context.through(&tail)).await
        })
    }

    fn roaming<'a>(&'a self, into: &mut Vec<&'a dyn Roaming>) {
        match self.tail.layers() {
            0 => self.head.roaming(into),
            _ => self.tail.roaming(into),
        }
    }
}

/// Opens connections for the Chunnel above `tail`: through `tail`, with the same picks.
struct ThroughTail<'t, Tail, Inner> {
    tail: &'t Tail,
    picks: Picks<'t>,
    context: ConnectContext<'t, Inner>,
}

impl<Tail, Inner> Connector<Tail::Connection> for ThroughTail<'_, Tail, Inner>
where
    Inner: Connection,
    Tail: Chunnel<Inner>,
{
    fn connect<'a>(
        &'a self,
        to: Addr,
        mut above: Vec<Node>,
    ) -> BoxFuture<'a, Result<Connected<Tail::Connection>, Error>>
    where
        Tail::Connection: 'a,
    {
        Box::pin(async move {
            above.extend(resolve(&self.tail.nodes(), self.picks));
            let Connected { connection, transcript, peer, secured } =
                self.context.connect_whole(to, above).await?;
            let context = self.context.for_another(transcript, peer.as_deref(), &secured);
            let connection = self.tail.instantiate(connection, self.picks, context).await?;
            Ok(Connected { connection, transcript, peer, secured })
        })
    }

    fn siblings<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Tail::Connection>, Error>>
    where
        Tail::Connection: 'a,
    {
        Box::pin(async move {
            let below = self.context.siblings().await?;
            let mut siblings = Vec::with_capacity(below.len());
            for sibling in below {
                let context = self.context.for_sibling();
                siblings.push(self.tail.instantiate(sibling, self.picks, context).await?);
            }
            Ok(siblings)
        })
    }
}
