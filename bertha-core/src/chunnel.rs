//! The Chunnel: how one layer wraps the connection below it.

use crate::guarantee::Set;
use crate::picks::{Picks, preferred};
use crate::statistics::{DropCounter, Observed};
use crate::{
    Addr, BoxFuture, Capability, Connection, Describe, Error, ErrorKind, LayerRegistry, Node, NotePlace,
    PeerLayers, Roaming, Secured, SecuredCell, Situation,
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
/// #     bertha_core::forward!(self.inner => base, send, recv, drain, close);
/// # }
/// ```
///
/// `#[derive(Identity)]` provides the supertrait [`Describe`]: the Chunnel's name and its description for the other end.
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
    /// `context` opens further connections like `inner` to other addresses; see [`ConnectContext::connect`]. The method takes
    /// `&self`, so that one value serves all clients of a server.
    ///
    /// # Errors
    /// Any failure that prevents the Chunnel from working. It fails this connection, not the listener.
    fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> impl Future<Output = Result<Self::Connection, Error>> + Send;

    /// Wraps `inner`, with the picked alternatives. Stacks and `select!` override it; Chunnels don't.
    ///
    /// The future is boxed, once per layer and connection: as one nested type, a stack of 31 layers would exceed the
    /// compiler's recursion limit.
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

    /// Appends the lowest Chunnel of each alternative, if its connections outlive the addresses of their peers.
    #[doc(hidden)]
    fn roaming<'a>(&'a self, _into: &mut Vec<&'a dyn Roaming>) {}
}

/// Opens further connections through the layers below a Chunnel.
///
/// Sharding on the client and multicast reach several addresses this way, although messages carry no address.
pub struct ConnectContext<'a, Inner> {
    connector: &'a dyn Connector<Inner>,
    role: Role,
    transcript: Option<[u8; 32]>,
    peer: Option<&'a PeerLayers>,
    secured: Option<&'a SecuredCell>,
    registry: Option<&'a LayerRegistry>,
    notes: Option<&'a NotePlace>,
    /// The layers of `peer` whose work the Chunnel under construction does: index of the first layer, and
    /// index behind the last.
    layers: (usize, usize),
}

/// The role of an endpoint in its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The end that connected.
    Client,
    /// The end that accepted.
    Server,
    /// An endpoint among any number of endpoints.
    Participant {
        /// True if this participant is the leader, for tasks that only one participant may do. Each round has
        /// at most one leader, and all participants agree on it. When the leader has gone, a new round begins
        /// with another leader.
        leads: bool,
    },
}

impl<'a, Inner> ConnectContext<'a, Inner> {
    /// Makes a context that opens connections through `connector`, for drivers of stacks and tests of
    /// Chunnels.
    ///
    /// It has no [transcript](Self::transcript) unless [`with_transcript`](Self::with_transcript) adds a
    /// transcript.
    pub fn new(connector: &'a dyn Connector<Inner>, role: Role) -> Self {
        Self {
            connector,
            role,
            transcript: None,
            peer: None,
            secured: None,
            registry: None,
            notes: None,
            layers: (0, 0),
        }
    }

    /// Returns a context that opens no connections and has no transcript, for a stack around a single
    /// existing connection.
    pub fn none() -> Self {
        Self::new(&Nowhere, Role::Client)
    }

    /// Adds the [transcript](Self::transcript) of the connection.
    #[must_use]
    pub fn with_transcript(self, transcript: Option<[u8; 32]>) -> Self {
        Self { transcript, ..self }
    }

    /// Returns the role of this end of the connection, for Chunnels whose two ends differ.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the hash of all messages with which the two ends agreed on this connection and its stack.
    ///
    /// It is the same on both ends unless an attacker altered these messages on their way. A Chunnel that authenticates its
    /// counterpart by its own keys should mix the transcript into them, or compare it under their protection, and refuse a
    /// connection on which it differs. Then no attacker without the keys can make two ends use a weaker stack than they
    /// would have agreed on. The transcript is no secret.
    ///
    /// Each connection has its own transcript, and so has each connection that [`connect`](Self::connect)
    /// makes, and each stack that replaces another stack while a connection is in use.
    ///
    /// There is no transcript
    /// * without negotiation, as with [`Wrap::wrap`](crate::Wrap::wrap);
    /// * for a stack whose Chunnels all take early data, since a client may build it before the server has answered. A
    ///   Chunnel that needs the transcript is therefore marked `#[chunnel(no_early_data)]`; a stack that contains it has a
    ///   transcript on both ends;
    /// * among [participants](Role::Participant), which agree through a store.
    ///
    /// Either both ends have a transcript or neither has, so `None` can be compared like any other value.
    pub fn transcript(&self) -> Option<[u8; 32]> {
        self.transcript
    }

    /// Adds a place for the result of a secure Chunnel.
    #[doc(hidden)]
    #[must_use]
    pub fn with_secured(self, secured: &'a SecuredCell) -> Self {
        Self { secured: Some(secured), ..self }
    }

    /// Reports that the Chunnel under construction has completed a handshake of its own with its counterpart,
    /// in which no third party could take part: the key protects the messages about the connection from now
    /// on, and the identity becomes the agreement's peer.
    ///
    /// Both ends of the Chunnel have to call it, with the same key. Of several secure Chunnels in one stack, the lowest counts.
    /// Without negotiation it has no effect.
    pub fn secured(&self, result: Secured) {
        if let Some(cell) = self.secured {
            cell.set(result);
        }
    }

    /// Adds a place for the counters and the state of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn with_registry(self, registry: &'a LayerRegistry) -> Self {
        Self { registry: Some(registry), ..self }
    }

    /// Returns a counter, at zero, of the messages that the Chunnel under construction drops for `reason`.
    /// The connection's [report](crate::Drops) lists it under the name of `layer`; counters of the same layer
    /// and reason add up there.
    ///
    /// Without negotiation only the Chunnel reads the counter.
    pub fn counts_drops(&self, layer: &'static str, reason: &'static str) -> DropCounter {
        self.registry.map_or_else(DropCounter::default, |registry| registry.counter(layer, reason))
    }

    /// Lets applications see the state of the layer that the Chunnel under construction makes, in the
    /// [statistics](crate::statistics) of the connection, as long as `layer` lives.
    ///
    /// Without negotiation it has no effect.
    pub fn observes<T: Observed>(&self, layer: &Arc<T>) {
        if let Some(registry) = self.registry {
            let layer: Arc<dyn Observed> = layer.clone();
            registry.add(Arc::downgrade(&layer));
        }
    }

    /// Adds a place for notes.
    #[doc(hidden)]
    #[must_use]
    pub fn with_notes(self, notes: &'a NotePlace) -> Self {
        Self { notes: Some(notes), ..self }
    }

    /// Leaves a note about the connection under the name of `layer`, for people who ask what the connection does and why: the
    /// agreement of the two ends shows it. The Chunnel under construction leaves it when it has found something out that the
    /// agreement alone does not say, such as the way that messages take.
    ///
    /// Notes are short: 512 bytes are kept of each, and 64 notes of a stack. Without negotiation, and on the further connections
    /// that [`connect`](Self::connect) makes, a note has no effect.
    pub fn note(&self, layer: &'static str, text: impl fmt::Display) {
        if let Some(notes) = self.notes {
            notes.keep(layer, &text);
        }
    }

    /// Adds the capabilities of the peer.
    #[must_use]
    pub fn with_peer(self, peer: Option<&'a PeerLayers>) -> Self {
        Self { peer, ..self }
    }

    /// Returns the peer's capability for this layer, which its Chunnel declared with `#[chunnel(capability =
    /// ..)]`. From the two capabilities both ends compute the same parameters, such as the smaller of two
    /// rates, or the first cipher that both ends know.
    ///
    /// `None`
    /// * if the Chunnel declares no capability of this type, or is one-sided;
    /// * without negotiation, as with [`Wrap::wrap`](crate::Wrap::wrap), or among [participants](Role::Participant), which have no
    ///   single peer;
    /// * for a client, if the server's capability does not decode.
    ///
    /// A client does not check the server's capability for compatibility: a Chunnel that cannot work with it fails to
    /// build its connection. A client that connects early has the capability that the server declared the last time; if
    /// that has changed, the stack is built anew.
    pub fn peer_capability<C: Capability>(&self) -> Option<C> {
        self.peer?.capability(self.layers.0..self.layers.1)
    }

    /// Returns the guarantees of the agreed layers below the Chunnel under construction. Both ends see the
    /// same guarantees, so a Chunnel may omit on the wire what they make superfluous.
    ///
    /// The set is empty without negotiation and among [participants](Role::Participant). One-sided layers and
    /// the datapath do not count, since each end has its own.
    pub fn guaranteed_below(&self) -> Set {
        self.peer.map_or(Set::NONE, |peer| peer.guaranteed_below(self.layers.1))
    }

    /// Returns the name of the highest layer below the Chunnel under construction that does not carry each
    /// message [by itself](crate::LayerInfo::apart), and may join messages that the Chunnel sends separately.
    /// Returns `None` if there is no such layer, and without negotiation.
    pub fn joins_messages_below(&self) -> Option<&'static str> {
        self.peer?.joins_messages_below(self.layers.1)
    }

    /// Returns the context for the layer above, whose connections `open` makes.
    pub(crate) fn through<'b, Outer>(self, open: &'b dyn Connector<Outer>) -> ConnectContext<'b, Outer>
    where
        'a: 'b,
    {
        let Self { role, transcript, peer, secured, registry, notes, layers, .. } = self;
        ConnectContext { connector: open, role, transcript, peer, secured, registry, notes, layers }
    }

    /// Returns the context for a further connection, on which this end is the client whatever its role in the
    /// current connection is.
    pub(crate) fn for_another<'b>(
        self,
        transcript: Option<[u8; 32]>,
        peer: Option<&'b PeerLayers>,
        secured: &'b SecuredCell,
    ) -> ConnectContext<'b, Inner>
    where
        'a: 'b,
    {
        let connector = self.connector;
        let registry = self.registry;
        let secured = Some(secured);
        // The agreement is about the first connection.
        let notes = None;
        ConnectContext {
            connector,
            role: Role::Client,
            transcript,
            peer,
            secured,
            registry,
            notes,
            layers: (0, 0),
        }
    }

    /// Returns the context for a sibling of the connection.
    pub(crate) fn for_sibling(self) -> Self {
        // Each layer of the connection has taken its part of `peer`.
        Self { peer: None, secured: None, notes: None, layers: (0, 0), ..self }
    }

    /// Returns the context for a Chunnel that does the work of the next `count` layers.
    fn for_layers(self, count: usize) -> Self {
        let Range { start, end } = self.peer.map_or(0..0, |peer| peer.take(count));
        Self { layers: (start, end), ..self }
    }

    /// Opens one more connection like the connection below the Chunnel, to the peer at `to`: over the same datapath and through
    /// the same Chunnels, with the same alternatives. The peer at `to` has to agree to them.
    ///
    /// # Errors
    /// The errors of connecting; [`Unavailable`](ErrorKind::Unavailable) if the stack was wrapped around a
    /// single connection with [`Wrap::wrap`](crate::Wrap::wrap).
    pub fn connect(&self, to: Addr) -> BoxFuture<'a, Result<Inner, Error>>
    where
        Inner: 'a,
    {
        self.connect_through(to, Vec::new())
    }

    /// Works as [`connect`](Self::connect), but the peer also has to agree to `layers`, top first, which
    /// stand directly above the layers below this Chunnel.
    ///
    /// This is for a Chunnel that does the work of `layers` itself: it must use their wire format on the new connection.
    pub fn connect_through(&self, to: Addr, layers: Vec<Node>) -> BoxFuture<'a, Result<Inner, Error>>
    where
        Inner: 'a,
    {
        let opening = self.connector.connect(to, layers);
        Box::pin(async { Ok(opening.await?.connection) })
    }

    /// Makes the siblings of the connection below the Chunnel, at a server: for each shard a connection through
    /// the same Chunnels to the same client, with a socket of its own, which any thread may use. The datapath
    /// steers the client's messages to them by the rule that the Chunnel [declares](crate::LayerInfo::steered).
    ///
    /// Steering begins when the client has proved its address and a sibling is received from; messages before
    /// that, and messages without a key, arrive at the connection below. The siblings end with that connection,
    /// which alone knows of closes and time-outs: each `recv` then returns the connection's error. `close` of a
    /// sibling, and dropping it, ends nothing.
    ///
    /// The Chunnels of a sibling see no [capability](Self::peer_capability) of the peer.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) if the datapath does not steer, at a client, and for a stack that
    /// takes the place of another stack in use.
    pub fn siblings(&self) -> BoxFuture<'a, Result<Vec<Inner>, Error>>
    where
        Inner: 'a,
    {
        self.connector.siblings()
    }

    /// Works as [`connect_through`](Self::connect_through), and also returns the transcript and the peer's
    /// capabilities of the new connection.
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

/// The implementation behind [`ConnectContext`]: the driver of negotiation, a layer below, or a test's substitute.
pub trait Connector<Inner>: Send + Sync {
    /// Connects to `to`. The peer there has to agree to `above`, whose alternatives are already picked, on top of the layers
    /// that this connector adds itself.
    ///
    /// # Errors
    /// The errors of connecting.
    fn connect<'a>(&'a self, to: Addr, above: Vec<Node>) -> BoxFuture<'a, Result<Connected<Inner>, Error>>
    where
        Inner: 'a;

    /// Makes the siblings of the connection; see [`ConnectContext::siblings`]. The default refuses.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable).
    fn siblings<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Inner>, Error>>
    where
        Inner: 'a,
    {
        let what =
            "this connection has no siblings: it is not a server's first stack over a datapath that steers";
        Box::pin(async move { Err(Error::new(ErrorKind::Unavailable, what)) })
    }
}

/// A connection that a [`Connector`] made.
#[derive(Debug)]
pub struct Connected<Inner> {
    /// The connection.
    pub connection: Inner,
    /// The hash that its two ends share; see [`ConnectContext::transcript`].
    pub transcript: Option<[u8; 32]>,
    /// The capabilities of its other end; see [`ConnectContext::peer_capability`].
    pub peer: Option<Arc<PeerLayers>>,
    /// The place for the result of a secure Chunnel that is built on it.
    #[doc(hidden)]
    pub secured: SecuredCell,
}

/// Makes a connection without a transcript and without a peer.
impl<Inner> From<Inner> for Connected<Inner> {
    fn from(connection: Inner) -> Self {
        Self { connection, transcript: None, peer: None, secured: SecuredCell::default() }
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
    let picks = preferred(&stack.nodes(), &Situation::TWO_ENDS);
    stack.instantiate(inner, Picks::new(&picks), context).await
}
