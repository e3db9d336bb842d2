//! Sending and receiving in the current epoch.

use super::epoch::Epochs;
use super::slot::Slot;
use super::slots::Slots;
use bertha_core::{Connection, Error};
use futures_util::FutureExt;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

// Each call of a stack is written out here once, so that the compiler can inline the stack's futures into it.
// A guard stays where it was acquired, since moving it between states of a future costs as much as acquiring
// it. These are blocks and not `async fn`s, which would move their arguments first.
#[allow(
    clippy::await_holding_lock,
    reason = "a guard is held while its call waits, and others take other slots"
)]
impl<C: Connection> Epochs<C> {
    pub(crate) fn send(&self, message: C::Data) -> impl Future<Output = Result<(), Error>> + Send {
        let slots = &self.sending;
        let mut slot = slots.first();
        async move {
            loop {
                if let Some(guard) = slot.acquire()
                    && let Some(epoch) = guard.as_deref()
                {
                    // The count comes before the call, which may be cancelled after it has sent the message.
                    slot.count(1);
                    let sent = epoch.connection.send(message).await;
                    if sent.is_err() {
                        slot.count(-1);
                    }
                    return sent;
                }
                slot = find(slots).await;
            }
        }
    }

    pub(crate) fn recv(&self) -> impl Future<Output = Result<C::Data, Error>> + Send {
        let slots = &self.receiving;
        let mut slot = slots.first();
        async move {
            loop {
                if let Some(guard) = slot.acquire()
                    && let Some(epoch) = guard.as_deref()
                {
                    match (UntilClosing { reception: epoch.connection.recv(), slot }).await {
                        Ok(message) => {
                            slot.count(1);
                            return Ok(message);
                        }
                        Err(Some(error)) if self.awaits_last(&error) => {
                            // Boxed, so that calls that succeed have no room for it.
                            let reception = Box::pin(self.until_last_known());
                            let _ = UntilClosing { reception: reception.map(Ok::<(), Error>), slot }.await;
                        }
                        Err(Some(error)) if !epoch.has_run_dry(&error, slots) => {
                            return Err(epoch.end_of_connection(error, slots));
                        }
                        Err(_) => {}
                    }
                }
                slot = find(slots).await;
            }
        }
    }

    pub(crate) async fn send_batch(
        &self,
        messages: impl Iterator<Item = C::Data> + Send,
    ) -> Result<(), Error> {
        let mut slot = self.sending.first();
        loop {
            if let Some(guard) = slot.acquire()
                && let Some(epoch) = guard.as_deref()
            {
                let messages = messages.inspect(|_| slot.count(1));
                return epoch.connection.send_batch(messages).await;
            }
            slot = find(&self.sending).await;
        }
    }

    pub(crate) async fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut slot = self.receiving.first();
        loop {
            if let Some(guard) = slot.acquire()
                && let Some(epoch) = guard.as_deref()
            {
                let reception = UntilClosing { reception: epoch.connection.recv_batch(into, limit), slot };
                match reception.await {
                    Ok(count) => {
                        slot.count(count as i64);
                        return Ok(count);
                    }
                    Err(Some(error)) if self.awaits_last(&error) => {
                        let reception = Box::pin(self.until_last_known());
                        let _ = UntilClosing { reception: reception.map(Ok::<(), Error>), slot }.await;
                    }
                    Err(Some(error)) if !epoch.has_run_dry(&error, &self.receiving) => {
                        return Err(epoch.end_of_connection(error, &self.receiving));
                    }
                    Err(_) => {}
                }
            }
            slot = find(&self.receiving).await;
        }
    }
}

/// Waits for a free slot of the current epoch.
fn find<R>(slots: &Slots<R>) -> impl Future<Output = &Slot<R>> {
    poll_fn(|context| slots.poll_find(context))
}

pin_project! {
    /// A reception that ends without an error when its slot closes: dropping a reception loses no message.
    struct UntilClosing<'s, R, F> {
        #[pin]
        reception: F,
        slot: &'s Slot<R>,
    }
}

impl<R, F: Future<Output = Result<T, Error>>, T> Future for UntilClosing<'_, R, F> {
    type Output = Result<T, Option<Error>>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match this.reception.poll(context) {
            Poll::Ready(received) => Poll::Ready(received.map_err(Some)),
            Poll::Pending if this.slot.park(context) => Poll::Ready(Err(None)),
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::future::pending;
    use std::pin::pin;
    use std::sync::Arc;

    #[test]
    fn a_reception_that_waits_leaves_once_its_slot_closes() {
        let slots = Slots::new(&Arc::new(()));
        let reception = pending::<Result<(), Error>>();
        let mut waiting = pin!(UntilClosing { reception, slot: slots.first() });
        assert!(waiting.as_mut().now_or_never().is_none());
        slots.close();
        assert!(matches!(waiting.now_or_never(), Some(Err(None))));
    }
}
