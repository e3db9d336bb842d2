//! Receiving messages that are put in order, for both Chunnels.

use super::arrivals::Arrivals;
use bertha_core::{Base, Buf, Connection, Error, Runtime};
use futures_util::future::{FutureExt, pending};
use futures_util::select_biased;
use parking_lot::MappedMutexGuard;
use std::pin::pin;
use tokio::sync::Notify;

/// The number of messages received from below at a time.
const BURST: usize = 64;

/// A connection that puts the messages from below in order.
pub(super) trait Reorders: Sync {
    /// The connection below.
    type Inner: Connection<Data = Buf>;
    /// A message that has arrived.
    type Message;

    fn inner(&self) -> &Self::Inner;

    /// Returns the notification, which is given when another `recv`, whose future may be dropped, left a
    /// message to deliver or a new deadline.
    fn ready(&self) -> &Notify;

    fn arrivals(&self) -> MappedMutexGuard<'_, Arrivals<Self::Message>>;

    /// Takes a message from below.
    fn insert(&self, message: Buf);
}

/// Waits for a message, a notification or a time-out.
pub(super) async fn progress(connection: &impl Reorders) -> Result<(), Error> {
    let runtime = connection.inner().base().runtime();
    // The notification is created before the deadline is read, so that it is not missed.
    let mut ready = pin!(connection.ready().notified().fuse());
    let deadline = connection.arrivals().deadline();
    let mut late = pin!(
        async {
            match deadline {
                Some(deadline) => runtime.sleep_until(deadline).await,
                None => pending().await,
            }
        }
        .fuse()
    );
    let mut burst = Burst(connection);
    let mut receiving = pin!(connection.inner().recv_batch(&mut burst, BURST).fuse());
    select_biased! {
        received = receiving => match received {
            Ok(_) => {}
            Err(error) => {
                let mut arrivals = connection.arrivals();
                arrivals.flush(runtime.now());
                if !arrivals.has_ready() {
                    return Err(error);
                }
            }
        },
        () = ready => {}
        () = late => connection.arrivals().expire(runtime.now()),
    }
    Ok(())
}

/// Moves `first` and the messages behind it to `into`, at most `limit` and at least one. Returns their
/// number.
pub(super) fn extend(
    into: &mut impl Extend<Buf>,
    limit: usize,
    first: Buf,
    behind: impl FnMut() -> Option<Buf>,
) -> usize {
    into.extend([first]);
    let mut count = 1;
    into.extend(std::iter::from_fn(behind).take(limit - 1).inspect(|_| count += 1));
    count
}

/// Inserts the messages of a burst.
struct Burst<'a, C>(&'a C);

impl<C: Reorders> Extend<Buf> for Burst<'_, C> {
    fn extend<I: IntoIterator<Item = Buf>>(&mut self, messages: I) {
        messages.into_iter().for_each(|message| self.0.insert(message));
    }
}
