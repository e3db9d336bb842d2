//! The connection that an application holds after negotiation.

use crate::connections::ConnectionPlace;
use crate::handshake::CurrentAgreement;
use crate::observing::{self, EntryGuard, Parts};
use crate::uncloned::uncloned;
use crate::{Agreement, Session};
use bertha_core::{
    Addr, Base, Connection, Drops, Error, Gather, Gathered, PeerIdentity, Statistics, forward,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A connection whose stack two ends agreed on.
///
/// The type is opaque: the stack may change, even while the connection is in use, without a change of type. All calls
/// take `&self`: tasks share a connection in an `Arc`.
///
/// [`close`](Connection::close) waits for the messages that the stack or the datapath has promised to
/// deliver, and tells the peer. Over a datapath that loses messages, a task repeats the close until the peer
/// has seen it, so long as the runtime lives. Over streams of the kernel and shared memory, which deliver
/// without this process, a task waits for a peer that is not receiving, behind
/// [`close_wait`](crate::Settings::close_wait). Dropping the connection tells the peer too, once.
#[derive(Debug)]
pub struct Negotiated<C> {
    /// Dropped before the connection.
    _entry: EntryGuard,
    connection: C,
    current_agreement: Arc<CurrentAgreement>,
    session: Arc<Session>,
    dropped: Arc<AtomicU64>,
    /// The place at a server.
    _place: Option<ConnectionPlace>,
}

uncloned!(Negotiated<C>);

impl<C: Connection> Negotiated<C> {
    pub(crate) fn new(
        connection: C,
        current_agreement: Arc<CurrentAgreement>,
        session: Arc<Session>,
        dropped: Arc<AtomicU64>,
    ) -> Self {
        let parts = Parts { session: &session, agreement: &current_agreement, dropped: &dropped };
        let _entry = observing::connected(&connection, parts);
        Self { _entry, connection, current_agreement, session, dropped, _place: None }
    }
}

impl<C> Negotiated<C> {
    /// Keeps the place among the connections of a server until it is dropped.
    pub(crate) fn in_place(self, place: ConnectionPlace) -> Self {
        Self { _place: Some(place), ..self }
    }

    /// Makes another connection of the one at the top of the stack.
    pub(crate) fn map<To>(self, to: impl FnOnce(C) -> To) -> Negotiated<To> {
        let Self { _entry, connection, current_agreement, session, dropped, _place } = self;
        Negotiated { _entry, connection: to(connection), current_agreement, session, dropped, _place }
    }

    pub(crate) fn current_agreement(&self) -> &CurrentAgreement {
        &self.current_agreement
    }

    pub(crate) fn connection(&self) -> &C {
        &self.connection
    }

    /// Returns the address of the peer. A stack with roaming follows its peer to another address.
    pub fn peer_addr(&self) -> Addr
    where
        C: Connection,
    {
        self.connection.base().peer_addr()
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> Addr
    where
        C: Connection,
    {
        self.connection.base().local_addr()
    }

    /// Returns the stack in use, and the reasons for it. An [`upgrade`](Negotiated::upgrade) by either end
    /// changes them.
    pub fn explain(&self) -> Arc<Agreement> {
        self.current_agreement.get()
    }

    /// Returns the number of messages that arrived damaged, late, forged, or for no connection, and were
    /// dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns the messages that this end has dropped, by layer and reason: below the stack, and in each
    /// Chunnel that [counts them](bertha_core::ConnectContext::counts_drops), also in earlier stacks of the
    /// connection. Messages for which the socket or the port had no room are in the counters of the
    /// datapath.
    pub fn drops(&self) -> Drops {
        self.session.drops_of_link(self.dropped())
    }

    /// Returns the state of the connection at this moment, by layer: of the datapath, of the link, and of each
    /// Chunnel that [lets itself be observed](bertha_core::ConnectContext::observes), with the
    /// [drops](Self::drops) of each. While a stack is being changed, the layers of both stacks are listed.
    ///
    /// [`Statistics::get`] finds the struct of a layer: `QuicStatistics`, `ReliableStatistics`,
    /// `FragmentStatistics`, `OrderedStatistics` and others of the Chunnels, `MaybeLocalStatistics`,
    /// [`LinkStatistics`](crate::LinkStatistics), and at the bottom `StreamStatistics` of TCP and Unix
    /// streams, `DatagramStatistics` of UDP and Unix datagrams, `ShmStatistics` or `DpdkStatistics`. The
    /// simulator tells nothing. A client's calls are told by `Multiplexer::statistics`, a server's calls by
    /// `ServedCalls`, and an end of a topic, which has no link, by `Connection::observe` as `QueueStatistics`.
    ///
    /// The call takes the locks of the layers for a short time; a connection that nobody looks at pays
    /// nothing.
    pub fn statistics(&self) -> Statistics {
        self.session.statistics_of_link(self.dropped())
    }

    /// Returns the number of [dropped](Self::dropped) messages that claimed to be of this connection without
    /// the proof that they needed: they were forged, replayed, or, rarely, damaged. The number is zero
    /// without [`Credentials`](crate::Credentials).
    pub fn forged(&self) -> u64 {
        self.session.forged()
    }
}

impl<C: Connection> Connection for Negotiated<C> {
    type Data = C::Data;
    type Base = C::Base;

    forward!(self.connection => base, mtu, send, recv, send_batch, recv_batch, drain, close);

    /// Returns the identity of the [agreement](Agreement::peer), or else that for which the datapath vouches.
    fn peer_identity(&self) -> Option<PeerIdentity> {
        self.explain().peer().or_else(|| self.base().peer_identity())
    }
}

/// A stack whose top sends messages of several parts: the empty one.
impl<C: Gather> Gather for Negotiated<C> {
    fn send_gathered(&self, message: Gathered) -> impl Future<Output = Result<(), Error>> + Send {
        self.connection.send_gathered(message)
    }
}
