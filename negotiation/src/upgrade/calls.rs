//! Sending and receiving in whichever round is in force.

use super::place::Place;
use super::round::Rounds;
use super::seats::Seats;
use bertha_core::{Connection, Error};
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

// Each call of a stack stands here once, so that the compiler can dissolve the stack's futures in it; and a seat is held where it
// was taken, since moving it between states of a future costs as much as taking it.
// And blocks instead of `async fn`s, which would move their arguments first.
#[allow(
    clippy::await_holding_lock,
    reason = "a seat is held while its call waits, and others take other seats"
)]
impl<C: Connection> Rounds<C> {
    pub fn send(&self, message: C::Data) -> impl Future<Output = Result<(), Error>> + Send {
        let seats = &self.sending;
        let mut place = seats.first();
        async move {
            loop {
                if let Some(seat) = place.sit()
                    && let Some(round) = seat.as_deref()
                {
                    // Before the call, which may be cancelled after it has sent the message.
                    place.count(1);
                    let sent = round.connection.send(message).await;
                    if sent.is_err() {
                        place.count(-1);
                    }
                    return sent;
                }
                place = find(seats).await;
            }
        }
    }

    pub fn recv(&self) -> impl Future<Output = Result<C::Data, Error>> + Send {
        let seats = &self.receiving;
        let mut place = seats.first();
        async move {
            loop {
                if let Some(seat) = place.sit()
                    && let Some(round) = seat.as_deref()
                {
                    match (UntilAsked { reception: round.connection.recv(), place }).await {
                        Ok(message) => {
                            place.count(1);
                            return Ok(message);
                        }
                        Err(Some(error)) if !round.is_left(seats) => return Err(error),
                        Err(_) => {}
                    }
                }
                place = find(seats).await;
            }
        }
    }

    pub async fn send_batch(&self, messages: impl Iterator<Item = C::Data> + Send) -> Result<(), Error> {
        let mut place = self.sending.first();
        loop {
            if let Some(seat) = place.sit()
                && let Some(round) = seat.as_deref()
            {
                let messages = messages.inspect(|_| place.count(1));
                return round.connection.send_batch(messages).await;
            }
            place = find(&self.sending).await;
        }
    }

    pub async fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut place = self.receiving.first();
        loop {
            if let Some(seat) = place.sit()
                && let Some(round) = seat.as_deref()
            {
                let reception = UntilAsked { reception: round.connection.recv_batch(into, limit), place };
                match reception.await {
                    Ok(count) => {
                        place.count(count as i64);
                        return Ok(count);
                    }
                    Err(Some(error)) if !round.is_left(&self.receiving) => return Err(error),
                    Err(_) => {}
                }
            }
            place = find(&self.receiving).await;
        }
    }
}

/// A free place at the round in force, once there is one.
fn find<R>(seats: &Seats<R>) -> impl Future<Output = &Place<R>> {
    poll_fn(|context| seats.poll_find(context))
}

pin_project! {
    /// A reception that fails, without an error, when its round is over: one that is dropped has lost no message.
    struct UntilAsked<'s, R, F> {
        #[pin]
        reception: F,
        place: &'s Place<R>,
    }
}

impl<R, F: Future<Output = Result<T, Error>>, T> Future for UntilAsked<'_, R, F> {
    type Output = Result<T, Option<Error>>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match this.reception.poll(context) {
            Poll::Ready(received) => Poll::Ready(received.map_err(Some)),
            Poll::Pending if this.place.park(context) => Poll::Ready(Err(None)),
            Poll::Pending => Poll::Pending,
        }
    }
}
