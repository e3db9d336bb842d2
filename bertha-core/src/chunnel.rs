//! The Chunnel: how one layer wraps the connection below it.

use crate::picks::{Picks, preferred};
use crate::{
    Addr, BoxFuture, Capability, Connection, Describe, Error, ErrorKind, Node, PeerLayers, Preference,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// One communication function, as a value that holds its configuration.
///
/// Implement it for every `Inner` that the Chunnel can stand on, most often any connection that carries [`Buf`]s:
///
/// ```
/// use bertha_core::{Buf, Carries, Chunnel, Connection, Error, Identity, ConnectContext};
///
/// /// Appends a check byte to each message, and drops messages whose check fails.
/// #[derive(Debug, Identity)]
/// pub struct Checked;
///
/// impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Checked {
///     type Connection = CheckedConnection<Inner>;
///
///     async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Self::Connection, Error> {
///         Ok(CheckedConnection { inner })
///     }
/// }
/// # #[derive(Debug)]
/// # pub struct CheckedConnection<Inner> { inner: Inner }
/// # impl<Inner: Carries<Buf, Checked>> Connection for CheckedConnection<Inner> {
/// #     type Data = Buf;
/// #     type Base = Inner::Base;
/// #     fn base(&self) -> &Inner::Base { self.inner.base() }
/// #     fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send { self.inner.send(message) }
/// #     fn recv(&self) -> impl Future<Output = Result<Buf, Error>> + Send { self.inner.recv() }
/// #     fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send { self.inner.drain() }
/// #     fn close(&self) -> impl Future<Output = Result<(), Error>> + Send { self.inner.close() }
/// # }
/// ```
///
/// `#[derive(Identity)]` provides the supertrait [`Describe`]: the Chunnel's name and what it tells the other end.
///
/// [`Buf`]: crate::Buf
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand on `{Inner}`",
    label = "not a Chunnel for the connection below it",
    note = "every element of a stack must implement `Chunnel<Inner>` for the connection that the one below makes",
    note = "a generic function says of its datapath that the stack runs over it: `D: Runs<S, Out: Connection<Data = ..>>`"
)]
pub trait Chunnel<Inner: Connection>: Describe + Send + Sync {
    /// The connection that this Chunnel makes.
    type Connection: Connection;

    /// Wraps `inner`. Called once for each connection, bottom up, after the two ends agreed on the stack.
    ///
    /// `context` opens further connections like `inner` to other addresses; see [`ConnectContext::connect`]. `&self`, so that one
    /// value serves all clients of a server.
    ///
    /// # Errors
    /// Whatever keeps the Chunnel from working; it fails the connection, not the listener.
    fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> impl Future<Output = Result<Self::Connection, Error>> + Send;

    /// Wraps `inner`, with the alternatives that were picked. Stacks and `select!` override it; Chunnels don't.
    ///
    /// Boxed once per layer and connection: as one nested type, a stack of 31 layers exceeds the compiler's depth.
    #[doc(hidden)]
    fn instantiate<'a>(
        &'a self,
        inner: Inner,
        _picks: Picks<'a>,
        context: ConnectContext<'a, Inner>,
    ) -> BoxFuture<'a, Result<Self::Connection, Error>>
    where
        Inner: 'a,
    {
        Box::pin(self.connect_wrap(inner, context.for_layers(self.layers())))
    }
}

/// Opens further connections through the layers below a Chunnel.
///
/// Sharding on the client and multicast reach several addresses this way, while messages carry no address.
pub struct ConnectContext<'a, Inner> {
    connector: &'a dyn Connector<Inner>,
    role: Role,
    transcript: Option<[u8; 32]>,
    peer: Option<&'a PeerLayers>,
    /// The layers that the Chunnel which is being built does the work of, among those of `peer`.
    layers: (usize, usize),
}

/// Which end of a connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The end that connected.
    Client,
    /// The end that accepted.
    Server,
    /// One of any number of endpoints.
    Participant {
        /// Whether it is the one to do what only one may do. In each round at most one participant leads, and all have the
        /// same for it; when it has gone, another round begins that somebody else leads.
        leads: bool,
    },
}

impl<'a, Inner> ConnectContext<'a, Inner> {
    /// Opens connections through `connector`. For drivers of stacks, and for tests of Chunnels.
    ///
    /// There is no [transcript](Self::transcript) unless one is [added](Self::with_transcript).
    pub fn new(connector: &'a dyn Connector<Inner>, role: Role) -> Self {
        Self { connector, role, transcript: None, peer: None, layers: (0, 0) }
    }

    /// Opens none, and has no transcript: for a stack around a single connection that was given from outside.
    pub fn none() -> Self {
        Self::new(&Nowhere, Role::Client)
    }

    /// The same with what both ends of the connection have in common.
    #[must_use]
    pub fn with_transcript(self, transcript: Option<[u8; 32]>) -> Self {
        Self { transcript, ..self }
    }

    /// Which end of the connection this is, for Chunnels whose two ends differ.
    pub fn role(&self) -> Role {
        self.role
    }

    /// A hash of all that the two ends said to agree on this connection and its stack.
    ///
    /// It is the same on both ends unless somebody altered on its way what they said. So a Chunnel that authenticates its
    /// counterpart by means of its own mixes it into its keys, or compares it under their protection, and refuses a
    /// connection on which it differs: then no attacker who lacks the keys can make two ends use a weaker stack than they
    /// would have agreed on. It is no secret.
    ///
    /// Each connection has its own, those that [`connect`](Self::connect) makes included, and each
    /// stack that takes another's place while a connection is in use.
    ///
    /// There is none
    /// * without negotiation, as with [`Wrap::wrap`](crate::Wrap::wrap);
    /// * for a stack of which every Chunnel takes early data: a client may build it before the server has said anything. So a
    ///   Chunnel that needs the transcript is marked `#[chunnel(no_early_data)]`; with it in a stack there is one on both
    ///   ends;
    /// * among [participants](Role::Participant), who agree through a store.
    ///
    /// Both ends are alike in this, so `None` can be treated as one more value that has to be the same.
    pub fn transcript(&self) -> Option<[u8; 32]> {
        self.transcript
    }

    /// The same with the capabilities of the other end.
    #[must_use]
    pub fn with_peer(self, peer: Option<&'a PeerLayers>) -> Self {
        Self { peer, ..self }
    }

    /// The other end's capability for this layer: what its Chunnel declared with `#[chunnel(capability = ..)]`. Both ends
    /// compute from the two what they use, such as the smaller of two rates, or the first cipher that both know.
    ///
    /// None
    /// * if the Chunnel declares no capability of this type, or is one-sided;
    /// * without negotiation, as with [`Wrap::wrap`](crate::Wrap::wrap), or among [participants](Role::Participant), which have no
    ///   single peer;
    /// * for a client, if the server's does not decode.
    ///
    /// The server's word is not compared on the client: a client that cannot work with it fails to build its connection.
    /// A client that connects early has the capability that the server declared the last time; if that has changed, the
    /// stack is built anew.
    pub fn peer_capability<C: Capability>(&self) -> Option<C> {
        self.peer?.capability(self.layers.0..self.layers.1)
    }

    /// For the layer above one that opens connections through `connector`.
    pub(crate) fn through<'b, Outer>(self, open: &'b dyn Connector<Outer>) -> ConnectContext<'b, Outer>
    where
        'a: 'b,
    {
        let Self { role, transcript, peer, layers, .. } = self;
        ConnectContext { connector: open, role, transcript, peer, layers }
    }

    /// The same for a connection that this end opens, whatever its part in the one that is being wrapped.
    pub(crate) fn for_another<'b>(
        self,
        transcript: Option<[u8; 32]>,
        peer: Option<&'b PeerLayers>,
    ) -> ConnectContext<'b, Inner>
    where
        'a: 'b,
    {
        ConnectContext { connector: self.connector, role: Role::Client, transcript, peer, layers: (0, 0) }
    }

    /// The same for a Chunnel that does the work of the next `count` layers.
    fn for_layers(self, count: usize) -> Self {
        let Range { start, end } = self.peer.map_or(0..0, |peer| peer.take(count));
        Self { layers: (start, end), ..self }
    }

    /// Opens one more connection like the one below the Chunnel, to the peer at `to`: over the same datapath, through
    /// the same Chunnels with the same alternatives, which that peer is asked to agree to.
    ///
    /// # Errors
    /// Those of connecting; [`Unavailable`](ErrorKind::Unavailable) if the stack was wrapped around a single
    /// connection with [`Wrap::wrap`](crate::Wrap::wrap).
    pub fn connect(&self, to: Addr) -> BoxFuture<'a, Result<Inner, Error>>
    where
        Inner: 'a,
    {
        self.connect_through(to, Vec::new())
    }

    /// As [`connect`](Self::connect), through `layers` as well, top first, which stand above those below this Chunnel: the peer
    /// is asked to agree to them too.
    ///
    /// For a Chunnel that does the work of these layers itself. It must then speak as they do over that connection.
    pub fn connect_through(&self, to: Addr, layers: Vec<Node>) -> BoxFuture<'a, Result<Inner, Error>>
    where
        Inner: 'a,
    {
        let opening = self.connector.connect(to, layers);
        Box::pin(async { Ok(opening.await?.connection) })
    }

    /// As above, with the transcript of the new connection.
    pub(crate) fn connect_whole(
        &self,
        to: Addr,
        layers: Vec<Node>,
    ) -> BoxFuture<'a, Result<Connected<Inner>, Error>>
    where
        Inner: 'a,
    {
        self.connector.connect(to, layers)
    }
}

impl<Inner> Clone for ConnectContext<'_, Inner> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Inner> Copy for ConnectContext<'_, Inner> {}

impl<Inner> fmt::Debug for ConnectContext<'_, Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectContext")
    }
}

/// What is behind [`ConnectContext`]: the driver of negotiation, the layers in between, or a test's substitute.
pub trait Connector<Inner>: Send + Sync {
    /// Connects to `to`, and agrees there on `above`, whose alternatives are picked already, over the layers that this
    /// opener adds itself.
    ///
    /// # Errors
    /// Those of connecting.
    fn connect<'a>(&'a self, to: Addr, above: Vec<Node>) -> BoxFuture<'a, Result<Connected<Inner>, Error>>
    where
        Inner: 'a;
}

/// A connection that [`Connector`] made.
#[derive(Debug)]
pub struct Connected<Inner> {
    /// The connection.
    pub connection: Inner,
    /// What its two ends have in common; see [`ConnectContext::transcript`].
    pub transcript: Option<[u8; 32]>,
    /// What its other end declared; see [`ConnectContext::peer_capability`].
    pub peer: Option<Arc<PeerLayers>>,
}

/// Without a transcript and a peer.
impl<Inner> From<Inner> for Connected<Inner> {
    fn from(connection: Inner) -> Self {
        Self { connection, transcript: None, peer: None }
    }
}

struct Nowhere;

impl<Inner> Connector<Inner> for Nowhere {
    fn connect<'a>(&'a self, to: Addr, _: Vec<Node>) -> BoxFuture<'a, Result<Connected<Inner>, Error>>
    where
        Inner: 'a,
    {
        let what = format!(
            "cannot reach {to}: the stack was wrapped around a single connection; use connect instead"
        );
        Box::pin(async { Err(Error::new(ErrorKind::Unavailable, what)) })
    }
}

/// Wraps `inner` in `stack` with the preferred alternative of each `select!`.
pub(crate) async fn wrap_preferred<S, C>(
    stack: &S,
    inner: C,
    context: ConnectContext<'_, C>,
) -> Result<S::Connection, Error>
where
    S: Chunnel<C> + ?Sized,
    C: Connection,
{
    let picks = preferred(&stack.nodes(), Preference::TWO_ENDS);
    stack.instantiate(inner, Picks::new(&picks), context).await
}
