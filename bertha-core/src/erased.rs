//! Type-erased stacks and connections.
//!
//! Use them for a stack that is chosen at run time, passed to a plug-in, or has more than about ten `select!`s: every
//! `select!` doubles the size of the connection's type. An erased boundary costs one allocation per call, and the layers
//! on either side of it are compiled separately.

use crate::chunnel::wrap_preferred;
use crate::debug_fields;
use crate::identity::{Reserved, kind};
use crate::picks::Picks;
use crate::{BoxFuture, Chunnel, ConnectContext, Connection, Describe, Error, Identity, Node, PeerIdentity};
use std::fmt;
use std::sync::Arc;

/// A connection of any type that carries `T` over a datapath with base `B`.
pub struct BoxConnection<T, B> {
    connection: Box<dyn DynConnection<T, B>>,
}

impl<T: Send + 'static, B: crate::Base> BoxConnection<T, B> {
    /// Erases the type of `connection`.
    pub fn new(connection: impl Connection<Data = T, Base = B>) -> Self {
        Self { connection: Box::new(connection) }
    }
}

debug_fields!(BoxConnection < T, B > {});

/// The dyn-compatible form of [`Connection`]. Its methods have other names, as otherwise every call would be ambiguous.
trait DynConnection<T, B>: Send + Sync {
    fn dyn_base(&self) -> &B;
    fn dyn_mtu(&self) -> usize;
    fn boxed_send(&self, message: T) -> BoxFuture<'_, Result<(), Error>>;
    fn boxed_recv(&self) -> BoxFuture<'_, Result<T, Error>>;
    fn boxed_send_batch<'a>(
        &'a self,
        messages: &'a mut (dyn Iterator<Item = T> + Send),
    ) -> BoxFuture<'a, Result<(), Error>>;
    fn boxed_recv_batch<'a>(&'a self, into: Sink<'a, T>, limit: usize)
    -> BoxFuture<'a, Result<usize, Error>>;
    fn boxed_drain(&self) -> BoxFuture<'_, Result<(), Error>>;
    fn boxed_close(&self) -> BoxFuture<'_, Result<(), Error>>;
    fn dyn_peer_identity(&self) -> Option<PeerIdentity>;
}

/// The destination of a received burst, with its type erased.
struct Sink<'a, T>(&'a mut (dyn FnMut(T) + Send));

impl<T> Extend<T> for Sink<'_, T> {
    fn extend<M: IntoIterator<Item = T>>(&mut self, messages: M) {
        messages.into_iter().for_each(&mut *self.0);
    }
}

impl<C: Connection> DynConnection<C::Data, C::Base> for C {
    fn dyn_base(&self) -> &C::Base {
        self.base()
    }

    fn dyn_mtu(&self) -> usize {
        self.mtu()
    }

    fn boxed_send(&self, message: C::Data) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.send(message))
    }

    fn boxed_recv(&self) -> BoxFuture<'_, Result<C::Data, Error>> {
        Box::pin(self.recv())
    }

    fn boxed_send_batch<'a>(
        &'a self,
        messages: &'a mut (dyn Iterator<Item = C::Data> + Send),
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.send_batch(messages))
    }

    fn boxed_recv_batch<'a>(
        &'a self,
        mut into: Sink<'a, C::Data>,
        limit: usize,
    ) -> BoxFuture<'a, Result<usize, Error>> {
        Box::pin(async move { self.recv_batch(&mut into, limit).await })
    }

    fn boxed_drain(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.drain())
    }

    fn boxed_close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.close())
    }

    fn dyn_peer_identity(&self) -> Option<PeerIdentity> {
        self.peer_identity()
    }
}

impl<T: Send + 'static, B: crate::Base> Connection for BoxConnection<T, B> {
    type Data = T;
    type Base = B;

    fn base(&self) -> &B {
        self.connection.dyn_base()
    }

    fn mtu(&self) -> usize {
        self.connection.dyn_mtu()
    }

    fn send(&self, message: T) -> impl Future<Output = Result<(), Error>> + Send {
        self.connection.boxed_send(message)
    }

    fn recv(&self) -> impl Future<Output = Result<T, Error>> + Send {
        self.connection.boxed_recv()
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = T> + Send) -> Result<(), Error> {
        self.connection.boxed_send_batch(&mut messages).await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<T> + Send), limit: usize) -> Result<usize, Error> {
        let mut push = |message| into.extend([message]);
        self.connection.boxed_recv_batch(Sink(&mut push), limit).await
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.connection.boxed_drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.connection.boxed_close()
    }

    fn peer_identity(&self) -> Option<PeerIdentity> {
        self.connection.dyn_peer_identity()
    }
}

/// A Chunnel that only erases the type of the connection below it, so that the types above stay small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(one_sided)]
pub struct Boxed;

impl<Inner: Connection> Chunnel<Inner> for Boxed {
    type Connection = BoxConnection<Inner::Data, Inner::Base>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(BoxConnection::new(inner))
    }
}

/// A stack of any type that turns connections `Inner` into connections that carry `T`.
///
/// It is cheap to clone. Stacks of different types have this type in common, so a stack can be chosen at run time:
///
/// ```
/// # use bertha_core::{BoxStack, Chunnel, Connection, Identity, make_stack};
/// fn choose<Inner, A, B, T>(first: bool, a: A, b: B) -> BoxStack<Inner, T>
/// where
///     Inner: Connection,
///     T: Send + 'static,
///     A: Chunnel<Inner, Connection: Connection<Data = T, Base = Inner::Base>> + 'static,
///     B: Chunnel<Inner, Connection: Connection<Data = T, Base = Inner::Base>> + 'static,
/// {
///     if first { BoxStack::new(a) } else { BoxStack::new(b) }
/// }
/// ```
pub struct BoxStack<Inner: Connection, T> {
    stack: Arc<dyn DynStack<Inner, T>>,
}

impl<Inner: Connection, T: Send + 'static> BoxStack<Inner, T> {
    /// Erases the type of `stack`.
    pub fn new<S>(stack: S) -> Self
    where
        S: Chunnel<Inner, Connection: Connection<Data = T, Base = Inner::Base>> + 'static,
    {
        Self { stack: Arc::new(stack) }
    }
}

impl<Inner: Connection, T> Clone for BoxStack<Inner, T> {
    fn clone(&self) -> Self {
        Self { stack: self.stack.clone() }
    }
}

impl<Inner: Connection, T> fmt::Debug for BoxStack<Inner, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.stack.explain())
    }
}

trait DynStack<Inner: Connection, T>: Describe + Send + Sync {
    fn boxed_instantiate<'a>(
        &'a self,
        inner: Inner,
        picks: Picks<'a>,
        context: ConnectContext<'a, Inner>,
    ) -> BoxFuture<'a, Result<BoxConnection<T, Inner::Base>, Error>>;
}

impl<Inner, T, S> DynStack<Inner, T> for S
where
    Inner: Connection,
    T: Send + 'static,
    S: Chunnel<Inner, Connection: Connection<Data = T, Base = Inner::Base>>,
{
    fn boxed_instantiate<'a>(
        &'a self,
        inner: Inner,
        picks: Picks<'a>,
        context: ConnectContext<'a, Inner>,
    ) -> BoxFuture<'a, Result<BoxConnection<T, Inner::Base>, Error>> {
        Box::pin(async move { self.instantiate(inner, picks, context).await.map(BoxConnection::new) })
    }
}

impl<Inner: Connection, T> Describe for BoxStack<Inner, T> {
    fn describe(&self, into: &mut Vec<Node>) {
        self.stack.describe(into);
    }

    fn selects(&self) -> usize {
        self.stack.selects()
    }

    fn notes(&self, into: &mut Vec<String>) {
        self.stack.notes(into);
    }
}

/// Passes see one Chunnel that gives and withdraws no guarantee, since the type of the stack inside is erased. Needs and floors are checked
/// by the layers inside.
impl<Inner: Connection, T> Identity for BoxStack<Inner, T> {
    type Id = Reserved;
    type Parameters = ();
    type Guarantees = ();
    type Kind = kind::Layer;
    const NAME: &'static str = "bertha-core::BoxStack";
}

impl<Inner: Connection, T: Send + 'static> Chunnel<Inner> for BoxStack<Inner, T> {
    type Connection = BoxConnection<T, Inner::Base>;

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
        self.stack.boxed_instantiate(inner, picks, context)
    }
}
