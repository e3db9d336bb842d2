//! The connection whose stack can change.

use super::epoch::Epochs;
use super::peer_protocol::{PeerRequest, ended};
use super::pick::Pick;
use crate::link::LinkShared;
use crate::{Agreement, Negotiated, span};
use bertha_core::{Base, Buf, Connection, Error, Runtime, forward};
use std::fmt;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument, Span};

type TaskOf<B> = <<<B as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// The connection of an [`Upgradable`](super::Upgradable) stack, whose Chunnels can change while it is in
/// use. Negotiation makes it, and code never names it; [`Negotiated::upgrade`] changes the Chunnels.
///
/// The connection keeps the promises of [`Connection`] across changes, and the promises of its Chunnels about
/// loss and order hold across changes, too. A `send` or `recv` that is neither polled nor dropped holds a
/// change up: an [`upgrade`](Negotiated::upgrade) at most for the time that it waits for the other end, and
/// other `recv`s, once the stack was changed, until the call is polled or dropped.
///
/// Dropping the connection drops its stack, whose link tells the peer. So a Chunnel that still has to tell
/// the peer that all messages have arrived, as `Reliable` has, does it first.
pub struct Switching<C, B: Connection<Data = Buf>> {
    pub(super) epochs: Arc<Epochs<C>>,
    pub(super) shared: Arc<LinkShared<B>>,
    pub(super) requests: mpsc::Sender<PeerRequest>,
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

    forward!(self.epochs => mtu, send, recv, send_batch, recv_batch, drain, close);
}

impl<C, B: Connection<Data = Buf>> Negotiated<Switching<C, B>> {
    /// Changes to other alternatives of the stack's `select!`s, while messages flow. The future is ready when
    /// this end sends through the new stack, on which the other end has agreed, and which it also changes to;
    /// [`explain`](Negotiated::explain) then describes the new stack.
    ///
    /// Pending `recv`s carry on over the new stack. Messages are delivered as if there had been no change:
    /// the change loses, repeats and reorders none. For this purpose each end stops its sends for as long as
    /// it takes to finish the sends under way and to [drain](Connection::drain) its Chunnels, and receives
    /// all messages of the old stack before it receives through the new stack. Over a base that loses
    /// messages it waits for missing messages no longer than
    /// [`drain_timeout`](crate::Settings::drain_timeout) after the last message; a duplicate that no Chunnel
    /// suppresses may be taken for a missing message.
    ///
    /// The other end takes part while it receives; this end waits for it for
    /// [`handshake_timeout`](crate::Settings::handshake_timeout). Changes happen one after the other; if both
    /// ends request a change at once, the server's change comes first. Dropping the future does not withdraw
    /// the request.
    ///
    /// # Errors
    /// The stack in use goes on after each of these errors.
    /// * [`Invalid`](bertha_core::ErrorKind::Invalid): there are no such alternatives.
    /// * [`Refused`](bertha_core::ErrorKind::Refused): the other end can't run such a stack, or can't change
    ///   its own, or the change would lose a guarantee that one of the ends keeps; the text says which
    ///   Chunnel or guarantee, and why.
    /// * [`TimedOut`](bertha_core::ErrorKind::TimedOut): the other end did not answer or its answer was not
    ///   received, or a `send` under way here or an earlier change did not end.
    /// * The errors of Chunnels that can't be built, and of a connection that has ended.
    pub async fn upgrade(&self, to: Pick) -> Result<Arc<Agreement>, Error> {
        let span = span::upgrading(&to);
        let changed = self.connection().upgrade(to).instrument(span.clone()).await.map(|()| self.explain());
        span::ended(&span, changed.as_ref().map(Arc::clone));
        changed
    }
}

impl<C, B: Connection<Data = Buf>> Switching<C, B> {
    /// Works as [`Negotiated::upgrade`].
    pub(crate) async fn upgrade(&self, to: Pick) -> Result<(), Error> {
        let (report, reported) = oneshot::channel();
        if self.requests.send(PeerRequest { pick: to, report, cause: Span::current() }).await.is_err() {
            self.shared.check()?;
            return Err(ended());
        }
        reported.await.unwrap_or_else(|_| self.shared.check().and_then(|()| Err(ended())))
    }
}

impl<C, B: Connection<Data = Buf>> fmt::Debug for Switching<C, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switching").finish_non_exhaustive()
    }
}
