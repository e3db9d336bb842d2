//! A base of any type, for connections over datapaths whose types differ.

use crate::{
    Addr, Base, Buf, Connection, Datapath, EcnMarks, Error, Headroom, Listener, PeerIdentity, Properties,
    Runtime, STEERED_PREFIX, Siblings, Statistics, Steering, forward,
};
use std::fmt;
use std::sync::Arc;

/// The [`Base`] of a connection of any type over a datapath whose runtime is `R`.
///
/// A call on the base costs an indirect call; messages pass it by, except for the buffers that it makes.
#[derive(Clone)]
pub struct AnyBase<R>(Arc<dyn HasBase<R>>);

/// A datapath whose connections have an [`AnyBase`], so that they can take the place of those of another datapath: as alternatives of
/// one connection, in one collection, or behind one `BoxConnection`.
///
/// ```
/// # use bertha_core::{AnyBase, Base, Connection, Datapath, OverAnyBase};
/// fn alike<A, B, R>(one: A, other: B)
/// where
///     A: Datapath<Connection: Connection<Base: Base<Runtime = R>>>,
///     B: Datapath<Connection: Connection<Base: Base<Runtime = R>>>,
///     R: bertha_core::Runtime,
/// {
///     let _one: OverAnyBase<A> = OverAnyBase::new(one);
///     let _other: OverAnyBase<B> = OverAnyBase::new(other);
/// }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct OverAnyBase<D>(D);

impl<D> OverAnyBase<D> {
    /// Makes connections over this datapath.
    pub fn new(datapath: D) -> Self {
        Self(datapath)
    }
}

/// A connection of an [`OverAnyBase`].
pub struct AnyBaseConnection<C: Connection> {
    connection: Arc<C>,
    base: AnyBase<<C::Base as Base>::Runtime>,
}

impl<C: Connection> AnyBaseConnection<C> {
    fn new(connection: C) -> Self {
        let connection = Arc::new(connection);
        Self { base: AnyBase(connection.clone()), connection }
    }
}

/// A listener of an [`OverAnyBase`].
#[derive(Debug)]
pub struct AnyBaseListener<L>(L);

impl<D: Datapath> Datapath for OverAnyBase<D> {
    type Connection = AnyBaseConnection<D::Connection>;
    type Listener = AnyBaseListener<D::Listener>;

    async fn connect(&self, to: Addr) -> Result<Self::Connection, Error> {
        self.0.connect(to).await.map(AnyBaseConnection::new)
    }

    async fn listen(&self, on: Addr) -> Result<Self::Listener, Error> {
        self.0.listen(on).await.map(AnyBaseListener)
    }

    fn runtime(&self) -> Option<<<D::Connection as Connection>::Base as Base>::Runtime> {
        self.0.runtime()
    }
}

impl<L: Listener> Listener for AnyBaseListener<L> {
    type Connection = AnyBaseConnection<L::Connection>;

    async fn accept(&self) -> Result<Self::Connection, Error> {
        self.0.accept().await.map(AnyBaseConnection::new)
    }

    fn local_addr(&self) -> Addr {
        self.0.local_addr()
    }

    fn properties(&self) -> Option<Properties> {
        self.0.properties()
    }

    fn capacity(&self) -> Option<usize> {
        self.0.capacity()
    }

    fn steer(&self, by: &Steering) -> Result<(), Error> {
        self.0.steer(by)
    }

    fn siblings(
        &self,
        connection: &Self::Connection,
        prefix: [u8; STEERED_PREFIX],
    ) -> Result<Siblings<Self::Connection>, Error> {
        let Siblings { connections, route } = self.0.siblings(&connection.connection, prefix)?;
        Ok(Siblings { connections: connections.into_iter().map(AnyBaseConnection::new).collect(), route })
    }
}

impl<C: Connection> Connection for AnyBaseConnection<C> {
    type Data = C::Data;
    type Base = AnyBase<<C::Base as Base>::Runtime>;

    fn base(&self) -> &Self::Base {
        &self.base
    }

    forward!(self.connection => mtu, send, recv, send_batch, recv_batch, drain, close);

    fn observe(&self, into: &mut Statistics) {
        self.connection.observe(into);
    }
}

/// A connection, of which only the base is of interest.
trait HasBase<R>: Send + Sync {
    fn any_base(&self) -> &dyn Base<Runtime = R>;
}

impl<C: Connection> HasBase<<C::Base as Base>::Runtime> for C {
    fn any_base(&self) -> &dyn Base<Runtime = <C::Base as Base>::Runtime> {
        self.base()
    }
}

impl<R: Runtime> Base for AnyBase<R> {
    type Runtime = R;

    fn runtime(&self) -> &R {
        self.0.any_base().runtime()
    }

    fn headroom(&self) -> &Headroom {
        self.0.any_base().headroom()
    }

    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        self.0.any_base().buffer(len)
    }

    fn mtu(&self) -> usize {
        self.0.any_base().mtu()
    }

    fn limit_received(&self, bytes: usize) {
        self.0.any_base().limit_received(bytes);
    }

    fn local_addr(&self) -> Addr {
        self.0.any_base().local_addr()
    }

    fn peer_addr(&self) -> Addr {
        self.0.any_base().peer_addr()
    }

    fn peer_identity(&self) -> Option<PeerIdentity> {
        self.0.any_base().peer_identity()
    }

    fn properties(&self) -> Properties {
        self.0.any_base().properties()
    }

    fn delivers_alone(&self) -> bool {
        self.0.any_base().delivers_alone()
    }

    fn set_ecn(&self, on: bool) -> bool {
        self.0.any_base().set_ecn(on)
    }

    fn marks(&self) -> EcnMarks {
        self.0.any_base().marks()
    }
}

impl<R: Runtime> fmt::Debug for AnyBase<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyBase(from {} to {})", self.0.any_base().local_addr(), self.0.any_base().peer_addr())
    }
}

impl<C: Connection> fmt::Debug for AnyBaseConnection<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyBaseConnection").field("base", &self.base).finish_non_exhaustive()
    }
}
