//! The connection whose stack can change.

use super::epoch::Epochs;
use super::peer_agent::{Request, ended};
use super::pick::Pick;
use crate::link::Shared;
use crate::{Agreement, Negotiated, span};
use bertha_core::{Base, Buf, Connection, Error, Runtime};
use std::fmt;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument, Span};

type TaskOf<B> = <<<B as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// The connection of an [`Upgradable`](super::Upgradable) stack, whose Chunnels can change while it is in use. Made by
/// negotiation, never named in code; [`Negotiated::upgrade`] changes them.
///
/// It keeps the promises of [`Connection`] across changes, and what its Chunnels promise of loss and order holds across
/// them, too. A `send` or `recv` that is neither polled nor dropped holds a change up: an [`upgrade`](Negotiated::upgrade) for as long as it
/// waits for the other end at most, and other `recv`s, once the stack was changed, until it is polled or dropped.
pub struct Switching<C, B: Connection<Data = Buf>> {
    pub(super) epochs: Arc<Epochs<C>>,
    pub(super) shared: Arc<Shared<B>>,
    pub(super) requests: mpsc::Sender<Request>,
    pub(super) _shell: TaskOf<B>,
}

impl<C, B> Connection for Switching<C, B>
where
    C: Connection<Base = B::Base>,
    B: Connection<Data = Buf>,
{
    type Data = C::Data;
    type Base = B::Base;

    fn base(&self) -> &B::Base {
        self.shared.base()
    }

    fn mtu(&self) -> usize {
        self.epochs.newest().connection.mtu()
    }

    fn send(&self, message: C::Data) -> impl Future<Output = Result<(), Error>> + Send {
        self.epochs.send(message)
    }

    fn recv(&self) -> impl Future<Output = Result<C::Data, Error>> + Send {
        self.epochs.recv()
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = C::Data> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.epochs.send_batch(messages)
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        self.epochs.recv_batch(into, limit)
    }

    async fn drain(&self) -> Result<(), Error> {
        let newest = self.epochs.newest();
        newest.connection.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        let newest = self.epochs.newest();
        newest.connection.close().await
    }
}

impl<C, B: Connection<Data = Buf>> Negotiated<Switching<C, B>> {
    /// Changes to other alternatives of the stack's `select!`s, while messages flow. Ready when this end sends through
    /// the new stack, on which the other end has agreed, and which it follows; [`explain`](Negotiated::explain) then says
    /// which it is.
    ///
    /// Pending `recv`s carry on over the new stack. Messages are delivered as if there had been no change: none is lost,
    /// repeated or reordered by it. For that, each end stops its sends for as long as it takes to finish those under way
    /// and to [drain](Connection::drain) its Chunnels, and finishes receiving what was sent through the old stack before
    /// it receives through the new one. Over a base that loses messages it waits for missing ones no longer than
    /// [`drain_timeout`](crate::Settings::drain_timeout) after the last one; a duplicate that no Chunnel suppresses may be
    /// taken for a missing one.
    ///
    /// The other end takes part while it receives; it is asked for
    /// [`handshake_timeout`](crate::Settings::handshake_timeout). Changes happen one after the other; if both ends ask at
    /// once, the server's comes first. Dropping the future does not take the request back.
    ///
    /// # Errors
    /// In each case the stack in use goes on.
    /// * [`Invalid`](bertha_core::ErrorKind::Invalid): there are no such alternatives.
    /// * [`Refused`](bertha_core::ErrorKind::Refused): the other end can't run such a stack, or can't change its own, or the change would
    ///   lose a guarantee that one of the ends keeps; the text says which Chunnel or guarantee, and why.
    /// * [`TimedOut`](bertha_core::ErrorKind::TimedOut): it did not answer or its answer was not received, or a `send` under way here did not end, or an earlier
    ///   change.
    /// * Those of the Chunnels that can't be built, and of a connection that has ended.
    pub async fn upgrade(&self, to: Pick) -> Result<Arc<Agreement>, Error> {
        let span = span::upgrading(&to);
        let changed = self.connection().upgrade(to).instrument(span.clone()).await.map(|()| self.explain());
        span::ended(&span, changed.as_ref().map(Arc::clone));
        changed
    }
}

impl<C, B: Connection<Data = Buf>> Switching<C, B> {
    /// As [`Negotiated::upgrade`].
    pub(crate) async fn upgrade(&self, to: Pick) -> Result<(), Error> {
        let (report, reported) = oneshot::channel();
        if self.requests.send(Request { pick: to, report, cause: Span::current() }).await.is_err() {
            self.shared.check()?;
            return Err(ended());
        }
        reported.await.unwrap_or_else(|_| self.shared.check().and_then(|()| Err(ended())))
    }
}

impl<C, B: Connection<Data = Buf>> Drop for Switching<C, B> {
    /// Tells the peer, once and without waiting.
    fn drop(&mut self) {
        self.shared.dropped_stack();
    }
}

impl<C, B: Connection<Data = Buf>> fmt::Debug for Switching<C, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switching").finish_non_exhaustive()
    }
}
