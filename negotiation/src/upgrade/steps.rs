//! The steps of a change that take time.

use super::epoch::{Epoch, Epochs};
use super::link_handle::LinkHandle;
use super::protocol::ChangeLimits;
use super::slots::Slots;
use bertha_core::{Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, pending, select};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// Pause before a step checks again for an event that no wake-up may have announced.
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// Pause before a reader for the task checks again if the application receives.
const LOOK_FOR_RECEIVERS: Duration = Duration::from_millis(5);

pub(super) async fn sleep(runtime: &impl Runtime, pause: Duration) {
    runtime.sleep_until(runtime.now() + pause).await;
}

/// Lets no further call start, and waits until the calls under way have left.
pub(super) async fn vacate<E>(slots: &Slots<E>, runtime: &impl Runtime) {
    slots.close();
    loop {
        let empty = pin!(poll_fn(|context| slots.poll_empty(context)));
        if let Either::Left(_) = select(empty, pin!(sleep(runtime, LOOK))).await {
            return;
        }
    }
}

/// The way in which sending in an epoch is ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ending {
    /// Time limits of the change.
    pub(super) limits: ChangeLimits,
    /// True to give up after the limit, so that the epoch goes on. Otherwise sends under way have no limit,
    /// and the change goes on although the stack could not be drained.
    pub(super) may_fail: bool,
    /// The part of the library that an error names.
    pub(super) name: &'static str,
}

/// Ends sending in `epoch`. Returns the number of messages that were sent.
pub(super) async fn end_sending<C: Connection>(
    epochs: Arc<Epochs<C>>,
    epoch: Arc<Epoch<C>>,
    link: Arc<impl LinkHandle>,
    Ending { limits, may_fail, name }: Ending,
) -> Result<u64, Error> {
    let runtime = link.runtime();
    let vacating = async {
        vacate(&epochs.sending, runtime).await;
        Ok(())
    };
    let vacated = match may_fail {
        false => vacating.await,
        true => within(runtime, limits.ending, name, "sends under way did not end in time", vacating).await,
    };
    let limit = if may_fail { Some(limits.ending) } else { limits.draining };
    let draining = epoch.connection.drain();
    let drained = match (vacated, limit) {
        (Ok(()), Some(limit)) => {
            within(runtime, limit, name, "Chunnels could not be drained in time", draining).await
        }
        (Ok(()), None) => draining.await,
        (failed, _) => failed,
    };
    match drained {
        Err(error) if may_fail => {
            epochs.sending.reopen(&epoch);
            return Err(error);
        }
        // The close waits for the messages in place of the change, and its result reports them.
        Err(_) if epochs.is_closing() && link.ends_with_stack() => {
            epochs.sending.reopen(&epoch);
            return pending().await;
        }
        Err(error) => {
            if error.kind() == ErrorKind::Closed && link.ends_with_stack() {
                // The peer has closed, and takes no message any more. Its link ends next, and this task with
                // it.
                sleep(runtime, limits.ending).await;
            }
            tracing::warn!(target: "bertha::negotiation", %error, "a stack was not drained before it was changed");
            if error.ends_connection() {
                link.messages_lost(&error);
            }
        }
        Ok(()) => {}
    }
    Ok(epochs.sending.total())
}

/// Returns the result of `work`, or an error that names the part of the library and says that `what` took too
/// long.
pub(super) async fn within<T>(
    runtime: &impl Runtime,
    limit: Duration,
    name: &'static str,
    what: &'static str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match select(pin!(work), pin!(sleep(runtime, limit))).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(Error::new(ErrorKind::TimedOut, what).at(name)),
    }
}

/// Makes receivers leave the old stack. If `dry` is true, no more messages arrive from the link below the
/// stack, and it first gives out the messages that it holds.
pub(super) async fn leave<C>(epochs: Arc<Epochs<C>>, old: Arc<Epoch<C>>, runtime: impl Runtime, dry: bool) {
    if dry {
        while !old.is_empty() {
            sleep(&runtime, LOOK).await;
        }
    }
    vacate(&epochs.receiving, &runtime).await;
}

/// Makes receivers leave the old stack of a connection that has ended, once they have received the messages
/// that the stack holds. The old epoch has [ended](Epoch::end).
pub(super) async fn leave_after_end<C>(epochs: &Epochs<C>, runtime: &impl Runtime) {
    // A call that finds the old stack empty waits for the next epoch.
    poll_fn(|context| epochs.receiving.poll_wanted(context)).await;
    vacate(&epochs.receiving, runtime).await;
}

/// Reads for a change of stacks as long as the application does not receive: otherwise this end would not
/// hear the other ends. Fails when the link has ended.
pub(super) async fn read_meanwhile<C>(
    epochs: &Epochs<C>,
    epoch: &Arc<Epoch<C>>,
    link: &impl LinkHandle,
) -> Error {
    loop {
        if !epochs.receiving.close_if_empty() {
            sleep(link.runtime(), LOOK_FOR_RECEIVERS).await;
            continue;
        }
        // The epoch opens again, even if this future is cancelled.
        let reopen = Reopen { slots: &epochs.receiving, epoch };
        let reading = async {
            loop {
                match link.read_for_others().await {
                    Ok(()) => {}
                    Err(error) if !error.ends_connection() => sleep(link.runtime(), LOOK_FOR_RECEIVERS).await,
                    Err(error) => return error,
                }
            }
        };
        let wanted = pin!(poll_fn(|context| epochs.receiving.poll_wanted(context)));
        if let Either::Right((error, _)) = select(wanted, pin!(reading)).await {
            return error;
        }
        // Calls that want to receive get a chance here.
        drop(reopen);
        sleep(link.runtime(), LOOK_FOR_RECEIVERS).await;
    }
}

/// Reads the old stack in place of receivers, which have left it: its Chunnels may need receptions to get
/// the counterpart's answers while the stack drains. All messages of the old epoch were received, or have
/// timed out, so a message that comes now is late and dropped.
pub(super) async fn read_old<C: Connection>(old: &Epoch<C>, runtime: &impl Runtime) -> Infallible {
    loop {
        match old.connection.recv().await {
            Err(error) if error.ends_connection() => return pending().await,
            // A stack may return the end of a stream at each call.
            Ok(_) | Err(_) => sleep(runtime, LOOK_FOR_RECEIVERS).await,
        }
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
