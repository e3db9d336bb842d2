//! Sending and receiving in whichever round is in force.

use super::round::{Round, Rounds};
use super::seats::{First, Seats, Taken};
use bertha_core::{Connection, Error, ErrorKind};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

impl<C: Connection> Rounds<C> {
    pub(crate) async fn send(&self, message: C::Data) -> Result<(), Error> {
        let seats = &self.sending;
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

    pub(crate) async fn recv(&self) -> Result<C::Data, Error> {
        let seats = &self.receiving;
        if let Some(taken) = seats.sit()
            && let Some(round) = taken.round()
        {
            let reception = pin!(round.connection.recv());
            if let Some(received) = Receiving::new((seats, First::<()>::PLACE), reception).await
                && !(received.is_err() && round.is_left(seats))
            {
                round.received.add(First::<()>::PLACE, i64::from(received.is_ok()));
                return received;
            }
        }
        Box::pin(recv_later(seats)).await
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
            if let Some(received) = Receiving::new((seats, place), reception).await
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
        if let Some(received) = Receiving::new((seats, place), reception).await
            && !(received.is_err() && round.is_left(seats))
        {
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
