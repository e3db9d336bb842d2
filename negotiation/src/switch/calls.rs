//! Sending and receiving in whichever round is in force.

use super::round::{Round, Rounds};
use super::seats::{First, Seats, Taken};
use bertha_core::{BoxFuture, Connection, Error, ErrorKind};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

impl<C: Connection> Rounds<C> {
    pub(crate) async fn send(&self, message: C::Data) -> Result<(), Error> {
        let taken = self.sending.sit();
        // By reference, so that the place is not moved while it is held.
        if let Some(round) = taken.as_ref().and_then(First::round) {
            // Before the call, which may be cancelled after it has sent the message.
            round.sent.add(First::<()>::PLACE, 1);
            let sent = round.connection.send(message).await;
            if sent.is_err() {
                round.sent.add(First::<()>::PLACE, -1);
            }
            return sent;
        }
        send_later(&self.sending, message).await
    }

    pub(crate) async fn recv(&self) -> Result<C::Data, Error> {
        let taken = self.receiving.sit();
        if let Some(round) = taken.as_ref().and_then(First::round) {
            let mut reception = pin!(round.connection.recv());
            let received = poll_fn(|context| match reception.as_mut().poll(context) {
                Poll::Ready(received) => Poll::Ready(Some(received)),
                // A reception that is dropped has lost no message.
                Poll::Pending if self.receiving.park(First::<()>::PLACE, context) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            if let Some(received) = received.await
                && !(received.is_err() && round.is_left(&self.receiving))
            {
                round.received.add(First::<()>::PLACE, i64::from(received.is_ok()));
                return received;
            }
        }
        drop(taken);
        recv_later(&self.receiving).await
    }

    pub(crate) async fn send_batch(
        &self,
        messages: impl Iterator<Item = C::Data> + Send,
    ) -> Result<(), Error> {
        let taken = enter(&self.sending).await;
        let (round, place) = taken.round().ok_or_else(no_round)?;
        let messages = messages.inspect(|_| round.sent.add(place, 1));
        round.connection.send_batch(messages).await
    }

    pub(crate) async fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let seats = &self.receiving;
        loop {
            let taken = enter(seats).await;
            let (round, place) = taken.round().ok_or_else(no_round)?;
            let reception = pin!(round.connection.recv_batch(into, limit));
            if let Some(received) = until_asked(seats, place, reception).await
                && !(received.is_err() && round.is_left(seats))
            {
                round.received.add(place, received.as_ref().map_or(0, |count| *count as i64));
                return received;
            }
        }
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

/// Sends as soon as there is a place. Boxed, and made out of line, so that calls that need not wait have nothing to set up for it.
#[cold]
#[inline(never)]
fn send_later<C: Connection>(seats: &Seats<Round<C>>, message: C::Data) -> BoxFuture<'_, Result<(), Error>> {
    Box::pin(async move {
        let taken = enter(seats).await;
        let (round, place) = taken.round().ok_or_else(no_round)?;
        round.sent.add(place, 1);
        let sent = round.connection.send(message).await;
        if sent.is_err() {
            round.sent.add(place, -1);
        }
        sent
    })
}

/// Receives as soon as there is a place. Boxed as well.
#[cold]
#[inline(never)]
fn recv_later<C: Connection>(seats: &Seats<Round<C>>) -> BoxFuture<'_, Result<C::Data, Error>> {
    Box::pin(async move {
        loop {
            let taken = enter(seats).await;
            let (round, place) = taken.round().ok_or_else(no_round)?;
            let reception = pin!(round.connection.recv());
            if let Some(received) = until_asked(seats, place, reception).await
                && !(received.is_err() && round.is_left(seats))
            {
                round.received.add(place, i64::from(received.is_ok()));
                return received;
            }
        }
    })
}

/// A reception that gives up, with nothing, when its round is over: one that is dropped has lost no message.
async fn until_asked<R, F: Future>(
    seats: &Seats<R>,
    place: usize,
    mut reception: Pin<&mut F>,
) -> Option<F::Output> {
    poll_fn(|context| match reception.as_mut().poll(context) {
        Poll::Ready(received) => Poll::Ready(Some(received)),
        Poll::Pending if seats.park(place, context) => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}
