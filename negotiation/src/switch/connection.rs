//! Sending and receiving through whichever round is in force.

use super::Pick;
use super::round::{Round, Rounds};
use super::seats::{First, Seats, Taken};
use crate::link::Shared;
use crate::{Agreement, Negotiated};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::{mpsc, oneshot};

type TaskOf<B> = <<<B as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// What an application asks of the agent, and where the answer goes.
pub(super) type Wish = (Pick, oneshot::Sender<Result<(), Error>>);

/// The connection of an [`Upgradable`](super::Upgradable) stack, whose Chunnels can change while it is in use. Made by
/// negotiation, never named in code; [`Negotiated::upgrade`] changes them.
///
/// It keeps the promises of [`Connection`] across changes, and what its Chunnels promise of loss and order holds across
/// them, too. A `send` or `recv` that is neither polled nor dropped holds a change up.
pub struct Switching<C, B: Connection<Data = Buf>> {
    pub(super) rounds: Arc<Rounds<C>>,
    pub(super) shared: Arc<Shared<B>>,
    pub(super) wishes: mpsc::Sender<Wish>,
    pub(super) _agent: TaskOf<B>,
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

    async fn send(&self, message: C::Data) -> Result<(), Error> {
        let seats = &self.rounds.sending;
        let Some(taken) = seats.sit() else {
            // Boxed, so that calls that need not wait have nothing to set up for it.
            return Box::pin(send_later(seats, message)).await;
        };
        let Some(round) = taken.round() else { return Err(no_round()) };
        // Before the call, which may be cancelled after it has sent the message.
        round.sent.add(First::<()>::PLACE, 1);
        let sent = round.connection.send(message).await;
        if sent.is_err() {
            round.sent.add(First::<()>::PLACE, -1);
        }
        sent
    }

    async fn recv(&self) -> Result<C::Data, Error> {
        let seats = &self.rounds.receiving;
        if let Some(taken) = seats.sit()
            && let Some(round) = taken.round()
        {
            let reception = pin!(round.connection.recv());
            if let Some(received) = Receiving::new((seats, First::<()>::PLACE), reception).await {
                round.received.add(First::<()>::PLACE, i64::from(received.is_ok()));
                return received;
            }
        }
        Box::pin(recv_later(seats)).await
    }

    async fn send_batch(&self, messages: impl Iterator<Item = C::Data> + Send) -> Result<(), Error> {
        let taken = enter(&self.rounds.sending).await;
        let (round, place) = taken.round().ok_or_else(no_round)?;
        let messages = messages.inspect(|_| round.sent.add(place, 1));
        round.connection.send_batch(messages).await
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let seats = &self.rounds.receiving;
        loop {
            let taken = enter(seats).await;
            let (round, place) = taken.round().ok_or_else(no_round)?;
            let reception = pin!(round.connection.recv_batch(into, limit));
            if let Some(received) = Receiving::new((seats, place), reception).await {
                round.received.add(place, received.as_ref().map_or(0, |count| *count as i64));
                return received;
            }
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        let newest = self.rounds.newest().clone();
        newest.connection.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        let newest = self.rounds.newest().clone();
        newest.connection.close().await
    }
}

/// A place at the round in force: at once, unless it is just being changed.
async fn enter<R>(seats: &Seats<R>) -> Taken<'_, R> {
    poll_fn(|context| seats.poll_sit(context)).await
}

/// A place that was given out is never empty; the error keeps this free of panics.
#[cold]
fn no_round() -> Error {
    Error::new(ErrorKind::Closed, "the connection is being changed").at("negotiation")
}

/// Sends as soon as there is a place.
async fn send_later<C: Connection>(seats: &Seats<Round<C>>, message: C::Data) -> Result<(), Error> {
    let taken = enter(seats).await;
    let (round, place) = taken.round().ok_or_else(no_round)?;
    round.sent.add(place, 1);
    let sent = round.connection.send(message).await;
    if sent.is_err() {
        round.sent.add(place, -1);
    }
    sent
}

/// Receives as soon as there is a place.
async fn recv_later<C: Connection>(seats: &Seats<Round<C>>) -> Result<C::Data, Error> {
    loop {
        let taken = enter(seats).await;
        let (round, place) = taken.round().ok_or_else(no_round)?;
        let reception = pin!(round.connection.recv());
        if let Some(received) = Receiving::new((seats, place), reception).await {
            round.received.add(place, i64::from(received.is_ok()));
            return received;
        }
    }
}

/// A reception that gives up, with nothing, when its round is over.
struct Receiving<'a, C, F> {
    seats: &'a Seats<Round<C>>,
    place: usize,
    reception: Pin<&'a mut F>,
}

impl<'a, C, F> Receiving<'a, C, F> {
    #[inline(always)]
    fn new((seats, place): (&'a Seats<Round<C>>, usize), reception: Pin<&'a mut F>) -> Self {
        Self { seats, place, reception }
    }
}

impl<C, T, F> Future for Receiving<'_, C, F>
where
    F: Future<Output = Result<T, Error>>,
{
    type Output = Option<F::Output>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(received) = self.reception.as_mut().poll(context) {
            return Poll::Ready(Some(received));
        }
        // A reception that is dropped has lost no message.
        if self.seats.park(self.place, context) { Poll::Ready(None) } else { Poll::Pending }
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
    /// once, the server's comes first. Dropping the future does not take the wish back.
    ///
    /// # Errors
    /// In each case the stack in use goes on.
    /// * [`Invalid`](ErrorKind::Invalid): there are no such alternatives.
    /// * [`Refused`](ErrorKind::Refused): the other end can't run such a stack, or can't change its own; the text says
    ///   which Chunnel and why.
    /// * [`TimedOut`](ErrorKind::TimedOut): it did not answer, or a `send` under way here did not end.
    /// * Those of the Chunnels that can't be built, and of a connection that has ended.
    pub async fn upgrade(&self, to: Pick) -> Result<Arc<Agreement>, Error> {
        let switching = self.connection();
        let (report, reported) = oneshot::channel();
        let gone = || Error::new(ErrorKind::Closed, "the connection has ended").at("negotiation");
        if switching.wishes.send((to, report)).await.is_err() {
            switching.shared.check()?;
            return Err(gone());
        }
        reported.await.unwrap_or_else(|_| switching.shared.check().and_then(|()| Err(gone())))?;
        Ok(self.explain())
    }
}

impl<C, B: Connection<Data = Buf>> Drop for Switching<C, B> {
    /// Tells the peer, once and without waiting.
    fn drop(&mut self) {
        self.shared.leave("");
    }
}

impl<C, B: Connection<Data = Buf>> fmt::Debug for Switching<C, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switching").finish_non_exhaustive()
    }
}
