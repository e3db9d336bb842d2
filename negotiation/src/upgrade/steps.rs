//! The steps of a change that take time.

use super::bottom::Bottom;
use super::epoch::{Epoch, Epochs};
use super::slots::Slots;
use bertha_core::{Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// The pause before a step looks again at what no wake-up may have announced.
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// The pause before a reader for others looks again whether the application receives.
const LOOK_FOR_RECEIVERS: Duration = Duration::from_millis(5);

pub(super) async fn sleep(runtime: &impl Runtime, pause: Duration) {
    runtime.sleep_until(runtime.now() + pause).await;
}

/// Lets no further call start, and waits until those under way have left.
pub(super) async fn vacate<E>(slots: &Slots<E>, runtime: &impl Runtime) {
    slots.close();
    loop {
        let empty = pin!(poll_fn(|context| slots.poll_empty(context)));
        if let Either::Left(_) = select(empty, pin!(sleep(runtime, LOOK))).await {
            return;
        }
    }
}

/// How sending in an epoch is ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ending {
    /// How long sends under way may take, and draining the stack as well.
    pub(super) limit: Duration,
    /// Whether it gives up after that, and the epoch goes on. Otherwise the change goes on without having drained.
    pub(super) may_fail: bool,
    /// The part of the library that an error names.
    pub(super) name: &'static str,
}

/// Ends sending in `epoch`. Returns how many messages were sent.
pub(super) async fn end_sending<C: Connection>(
    epochs: Arc<Epochs<C>>,
    epoch: Arc<Epoch<C>>,
    runtime: impl Runtime,
    Ending { limit, may_fail, name }: Ending,
) -> Result<u64, Error> {
    let runtime = &runtime;
    let vacating = async {
        vacate(&epochs.sending, runtime).await;
        Ok(())
    };
    let vacated = match may_fail {
        false => vacating.await,
        true => within(runtime, limit, (name, "sends under way did not end in time"), vacating).await,
    };
    let drained = match vacated {
        Ok(()) => {
            let what = "Chunnels could not be drained in time";
            within(runtime, limit, (name, what), epoch.connection.drain()).await
        }
        failed => failed,
    };
    match drained {
        Err(error) if may_fail => {
            epochs.sending.reopen(&epoch);
            return Err(error);
        }
        Err(error) => tracing::warn!(%error, "a stack was not drained before it was changed"),
        Ok(()) => {}
    }
    Ok(epochs.sending.total())
}

/// The result of `work`, or an error that names the part of the library and `what` took too long.
pub(super) async fn within<T>(
    runtime: &impl Runtime,
    limit: Duration,
    (name, what): (&'static str, &'static str),
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match select(pin!(work), pin!(sleep(runtime, limit))).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(Error::new(ErrorKind::TimedOut, what).at(name)),
    }
}

/// Has receivers leave the old stack. If that is `dry`, nothing more arrives at its bottom, and it first gives out what it holds.
pub(super) async fn leave<C>(epochs: Arc<Epochs<C>>, old: Arc<Epoch<C>>, runtime: impl Runtime, dry: bool) {
    if dry {
        while !old.is_empty() {
            sleep(&runtime, LOOK).await;
        }
    }
    vacate(&epochs.receiving, &runtime).await;
}

/// Reads for a change of stacks as long as the application does not receive: otherwise the other ends would not be heard.
/// Fails when the link has ended.
pub(super) async fn read_meanwhile<C>(
    epochs: &Epochs<C>,
    epoch: &Arc<Epoch<C>>,
    bottom: &impl Bottom,
) -> Error {
    loop {
        if !epochs.receiving.close_if_empty() {
            sleep(bottom.runtime(), LOOK_FOR_RECEIVERS).await;
            continue;
        }
        // Opens again, also if this is cancelled.
        let reopen = Reopen { slots: &epochs.receiving, epoch };
        let reading = async {
            loop {
                match bottom.read_for_others().await {
                    Ok(()) => {}
                    Err(error) if !error.ends_connection() => {
                        sleep(bottom.runtime(), LOOK_FOR_RECEIVERS).await
                    }
                    Err(error) => return error,
                }
            }
        };
        let wanted = pin!(poll_fn(|context| epochs.receiving.poll_wanted(context)));
        if let Either::Right((error, _)) = select(wanted, pin!(reading)).await {
            return error;
        }
        // Calls that want to receive have to get the chance.
        drop(reopen);
        sleep(bottom.runtime(), LOOK_FOR_RECEIVERS).await;
    }
}

struct Reopen<'a, E> {
    slots: &'a Slots<E>,
    epoch: &'a Arc<E>,
}

impl<E> Drop for Reopen<'_, E> {
    fn drop(&mut self) {
        self.slots.reopen(self.epoch);
    }
}
