//! The steps of a change that take time.

use super::round::{Round, Rounds};
use super::seats::Seats;
use crate::link::Shared;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// How long a step sleeps before it looks again at what nobody may have told it.
const LOOK: Duration = Duration::from_millis(1);

/// How long the reader for others waits before it looks again whether the application receives.
const LOOK_FOR_RECEIVERS: Duration = Duration::from_millis(5);

async fn sleep(runtime: &impl Runtime, pause: Duration) {
    runtime.sleep_until(runtime.now() + pause).await;
}

/// What a change of stacks asks of the link below the rounds.
pub trait Meanwhile: Send + Sync {
    /// The bottom's runtime.
    fn runtime(&self) -> &impl Runtime;

    /// Reads one message for whoever it is for. Only while no round's reader reads. Cancellation-safe.
    fn read_for_others(&self) -> impl Future<Output = Result<(), Error>> + Send;
}

impl<B: Connection<Data = Buf>> Meanwhile for Shared<B> {
    fn runtime(&self) -> &impl Runtime {
        self.base().runtime()
    }

    fn read_for_others(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.read_one_for_others()
    }
}

/// Lets no further call start, and waits until those under way have left.
pub async fn vacate<R>(seats: &Seats<R>, runtime: &impl Runtime) {
    seats.close();
    loop {
        let empty = pin!(poll_fn(|context| seats.poll_empty(context)));
        if let Either::Left(_) = select(empty, pin!(sleep(runtime, LOOK))).await {
            return;
        }
    }
}

/// Ends sending in `round`, and says how many messages were sent. What may fail gives up after `limit`,
/// and the round goes on; what may not goes on without having drained.
pub async fn end_sending<C: Connection>(
    rounds: Arc<Rounds<C>>,
    round: Arc<Round<C>>,
    runtime: impl Runtime,
    (limit, may_fail): (Duration, bool),
) -> Result<u64, Error> {
    let runtime = &runtime;
    let vacating = async {
        vacate(&rounds.sending, runtime).await;
        Ok(())
    };
    let vacated = match may_fail {
        false => vacating.await,
        true => within(runtime, limit, "sends under way did not end in time", vacating).await,
    };
    let drained = match vacated {
        Ok(()) => {
            within(runtime, limit, "Chunnels could not be drained in time", round.connection.drain()).await
        }
        failed => failed,
    };
    match drained {
        Err(error) if may_fail => {
            rounds.sending.reopen(&round);
            return Err(error);
        }
        Err(error) => tracing::warn!(%error, "a stack was not drained before it was changed"),
        Ok(()) => {}
    }
    Ok(rounds.sending.total())
}

async fn within(
    runtime: &impl Runtime,
    limit: Duration,
    what: &'static str,
    work: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    match select(pin!(work), pin!(sleep(runtime, limit))).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(Error::new(ErrorKind::TimedOut, what).at("negotiation")),
    }
}

/// Waits until as many messages were received in the round as were sent in it, or until nothing has come for the whole
/// time-out while somebody was waiting for it.
pub(super) async fn receive_rest<C, B: Connection<Data = Buf>>(
    rounds: Arc<Rounds<C>>,
    shared: Arc<Shared<B>>,
    sent: u64,
) {
    let (mut before, mut waited) = (rounds.receiving.total(), Duration::ZERO);
    while before < sent {
        sleep(shared.base().runtime(), LOOK).await;
        let received = rounds.receiving.total();
        if received != before {
            (before, waited) = (received, Duration::ZERO);
        } else if shared.is_awaited() && !rounds.receiving.is_closed() {
            waited += LOOK;
        }
        if waited >= shared.settings().drain_timeout {
            tracing::debug!(received, sent, "messages before a change of stacks are missing");
            return;
        }
    }
}

/// Reads for a change of stacks as long as the application does not receive: else the other end would not be heard.
/// Fails when the link has ended.
pub async fn read_meanwhile<C>(rounds: &Rounds<C>, round: &Arc<Round<C>>, link: &impl Meanwhile) -> Error {
    loop {
        if !rounds.receiving.close_if_empty() {
            sleep(link.runtime(), LOOK_FOR_RECEIVERS).await;
            continue;
        }
        // Opens again, also if this is cancelled.
        let reopen = Reopen(&rounds.receiving, round);
        let reading = async {
            loop {
                match link.read_for_others().await {
                    Ok(()) => {}
                    Err(error) if error.kind().may_pass() => sleep(link.runtime(), LOOK_FOR_RECEIVERS).await,
                    Err(error) => return error,
                }
            }
        };
        let wanted = pin!(poll_fn(|context| rounds.receiving.poll_wanted(context)));
        if let Either::Right((error, _)) = select(wanted, pin!(reading)).await {
            return error;
        }
        // Those who want to receive have to get the chance.
        drop(reopen);
        sleep(link.runtime(), LOOK_FOR_RECEIVERS).await;
    }
}

struct Reopen<'a, R>(&'a Seats<R>, &'a Arc<R>);

impl<R> Drop for Reopen<'_, R> {
    fn drop(&mut self) {
        self.0.reopen(self.1);
    }
}
