//! A connection that can be used before the server has answered.

mod answered;
mod built;
mod cache;
mod client;
mod connect;
mod driver;
mod guard;
mod shared;
mod statistics;

use crate::uncloned::uncloned;
use crate::{Agreement, Pick, Switching};
use bertha_core::{Addr, Base, Buf, Connection, Drops, Error, Runtime, Statistics};
use std::fmt;
use std::iter::{from_fn, once};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use guard::HandshakeGuard;
use shared::EarlyState;

pub use cache::EarlyCache;
pub(crate) use connect::connect_early;
pub use statistics::EarlyStatistics;

type TaskOf<C> = <<<C as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// A connection that [`Connect::early`](crate::Connect::early) made.
///
/// Until the server has answered, `send` puts messages into the first flight and `recv` waits. After that
/// both are the calls of the stack, at the cost of an atomic load.
///
/// * **Loss.** Negotiation neither loses a message nor delivers it twice. Messages sent before the answer are
///   kept until then, at most [`first_flight`](crate::Settings::first_flight) of them, and sent again in
///   order if the server picks another stack.
/// * **The answer** is read by the calls that wait in `send`, `recv` or [`agreed`](Self::agreed), and, a
///   thousandth of a second after the beginning, by a task of its own, so that no call has to wait.
/// * **Failure.** A refusal, or no answer within the [handshake
///   time-out](crate::Settings::handshake_timeout), fails `send` and `recv` from then on, with an error that
///   says how many messages are in doubt: a server that can't be heard may have taken them. If a Chunnel
///   panics in the call that reads the answer, the other calls get
///   [`Closed`](bertha_core::ErrorKind::Closed).
/// * **Backpressure.** A message for which there is no room waits for the answer.
/// * **Cancellation** works as for every [`Connection`]: a message whose `send` was dropped was not sent, or
///   sent whole, once.
/// * **The end.** [`close`](Connection::close) waits for the answer, and so until the messages have a
///   connection. Dropping gives up unanswered messages: they are not repeated any more.
pub struct Early<C: Connection> {
    shared: Arc<EarlyState<C>>,
    /// Brings the handshake to its end if no call does, and then watches over the link.
    _link_task: Option<TaskOf<C>>,
}

uncloned!(Early<C: Connection>);

impl<C: Connection> Early<C> {
    pub(crate) fn new(shared: Arc<EarlyState<C>>, link_task: Option<TaskOf<C>>) -> Self {
        Self { shared, _link_task: link_task }
    }

    /// Returns the stack in use, and the outcome of the first flight. While the server has not answered,
    /// returns the expected stack, with [`ZeroRtt::Unanswered`](crate::ZeroRtt::Unanswered).
    pub fn explain(&self) -> Arc<Agreement> {
        self.shared.agreement()
    }

    /// Waits for the server's answer, and until the messages that the server has not taken were sent again.
    ///
    /// # Errors
    /// The errors of [`connect`](crate::Negotiate::connect).
    pub async fn agreed(&self) -> Result<Arc<Agreement>, Error> {
        self.shared.wait_settled().await?;
        Ok(self.shared.agreement())
    }

    /// Works as [`Negotiated::dropped`](crate::Negotiated::dropped).
    pub fn dropped(&self) -> u64 {
        self.shared.latest().dropped.load(Ordering::Relaxed)
    }

    /// Works as [`Negotiated::drops`](crate::Negotiated::drops), of the stack in use.
    pub fn drops(&self) -> Drops {
        let agreement = self.explain();
        let built = &self.shared.latest().session;
        let mut drops = agreement.session().drops_of_link(self.dropped());
        // The stack was built before the answer, which brought another session.
        if !Arc::ptr_eq(agreement.session(), built) {
            drops += &built.registry().drops();
        }
        drops
    }

    /// Works as [`Negotiated::statistics`](crate::Negotiated::statistics), of the stack in use, below the outcome of the
    /// first flight, [`EarlyStatistics`].
    pub fn statistics(&self) -> Statistics {
        let agreement = self.explain();
        let built = &self.shared.latest().session;
        let mut statistics = agreement.session().statistics_of_link(self.dropped());
        // The stack was built before the answer, which brought another session.
        if !Arc::ptr_eq(agreement.session(), built) {
            built.registry().observe(&mut statistics);
            statistics.add_drops(&built.registry().drops());
        }
        if let Some(zero_rtt) = agreement.zero_rtt().cloned() {
            statistics.add("Early", EarlyStatistics { zero_rtt });
        }
        statistics
    }

    /// Works as [`Negotiated::forged`](crate::Negotiated::forged); zero while the server has not answered.
    pub fn forged(&self) -> u64 {
        self.explain().session().forged()
    }
}

impl<C, B> Early<Switching<C, B>>
where
    C: Connection<Base = B::Base>,
    B: Connection<Data = Buf>,
{
    /// Works as [`Negotiated::upgrade`](crate::Negotiated::upgrade), once the server has answered.
    ///
    /// # Errors
    /// The errors of [`agreed`](Self::agreed) and of [`Negotiated::upgrade`](crate::Negotiated::upgrade).
    pub async fn upgrade(&self, to: Pick) -> Result<Arc<Agreement>, Error> {
        self.shared.wait_settled().await?.upgrade(to).await?;
        Ok(self.explain())
    }
}

impl<C: Connection<Data: Clone>> Early<C> {
    /// Returns the address of the peer.
    pub fn peer_addr(&self) -> Addr {
        self.base().peer_addr()
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> Addr {
        self.base().local_addr()
    }
}

impl<C: Connection<Data: Clone>> Connection for Early<C> {
    type Data = C::Data;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.shared.latest().connection.base()
    }

    fn mtu(&self) -> usize {
        self.shared.latest().connection.mtu()
    }

    async fn send(&self, message: C::Data) -> Result<(), Error> {
        match self.shared.current() {
            Some(current) => current?.send(message).await,
            None => self.shared.send_early(message).await,
        }
    }

    async fn recv(&self) -> Result<C::Data, Error> {
        match self.shared.current() {
            Some(current) => current?.recv().await,
            None => self.shared.recv_early().await,
        }
    }

    /// Sends as many messages as fit with the offer, before the answer.
    async fn send_batch(&self, mut messages: impl Iterator<Item = C::Data> + Send) -> Result<(), Error> {
        let shared = &*self.shared;
        loop {
            if let Some(current) = shared.current() {
                return current?.send_batch(messages).await;
            }
            let Some(first) = messages.next() else { return Ok(()) };
            let Some(number) = shared.keep(&first) else {
                shared.send_early(first).await?;
                continue;
            };
            // The last kept message, and a message that was taken out of `messages` and not kept.
            let mut last = number;
            let mut left = None;
            let rest = from_fn(|| {
                let message = if shared.has_room() { messages.next()? } else { return None };
                match shared.keep(&message) {
                    Some(number) => last = number,
                    None => {
                        left = Some(message);
                        return None;
                    }
                }
                Some(message)
            });
            let burst = once(first).chain(rest.fuse());
            let sent = shared.over_first(shared.first().send_batch(burst)).await;
            // A layer stops at the message that it can't take.
            shared.resolve_sent(last, sent).await?;
            if let Some(left) = left {
                shared.send_early(left).await?;
            }
        }
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        match self.shared.current() {
            Some(current) => current?.recv_batch(into, limit).await,
            None if limit == 0 => Ok(0),
            None => {
                into.extend([self.shared.recv_early().await?]);
                Ok(1)
            }
        }
    }

    /// Waits for the answer first.
    async fn drain(&self) -> Result<(), Error> {
        self.shared.wait_settled().await?.drain().await
    }

    /// Waits for the answer first.
    async fn close(&self) -> Result<(), Error> {
        self.shared.wait_settled().await?.close().await
    }
}

impl<C: Connection> Drop for Early<C> {
    /// Drops the handshake, which has a reference to the connection.
    fn drop(&mut self) {
        drop(self.shared.driver.take());
    }
}

impl<C: Connection> fmt::Debug for Early<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Early").field("agreement", &self.explain()).finish_non_exhaustive()
    }
}
