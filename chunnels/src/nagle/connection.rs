//! The connection that applications hold.

use super::gathered::Gathered;
use crate::gathering::{self, GatheringShared, Task};
use bertha_core::statistics::Observed;
use bertha_core::{Connection, Error, debug_fields, forward};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The connection of [`Nagle`](super::Nagle), over any connection.
///
/// `send` is ready once the message is gathered; it waits while sixteen bursts wait to be sent. `drain` and
/// `close` first send the waiting messages; dropping the connection drops them. Dropping the future of `recv`
/// loses nothing: messages of a burst wait for the next call. Messages that no `recv` returned are dropped
/// after the connection below, so that a queue delivers them again.
///
/// # Errors
/// If sending a burst fails below, the next `send`, `drain` or `close` fails with the same error, even
/// if the error concerns one message, such as a message that is too large for the layers below. If the error
/// ends the connection, every later `send` fails with it.
pub struct NagleConnection<Inner: Connection> {
    shared: Arc<GatheringShared<Inner, Gathered<Inner::Data>>>,
    /// Messages of received bursts that were not handed out yet.
    received: Mutex<VecDeque<Inner::Data>>,
    /// Notified when another `recv` left messages in `received`.
    more: Notify,
    burst: usize,
    /// Ends the task with the connection.
    _task: Task<Inner>,
}

impl<Inner: Connection> NagleConnection<Inner> {
    pub(super) fn new(inner: Inner, burst: usize, wait: Duration) -> Self {
        let shared = Arc::new(GatheringShared::new("Nagle", inner, Gathered::new(burst, wait)));
        let _task = gathering::spawn(&shared);
        Self { shared, received: Mutex::default(), more: Notify::new(), burst, _task }
    }

    /// Returns the connection below, which counts calls if it is the connection of a queue.
    pub fn inner(&self) -> &Inner {
        &self.shared.inner
    }

    /// Returns the state, which tells about itself.
    pub(super) fn observed(&self) -> &Arc<impl Observed + use<Inner>> {
        &self.shared
    }

    /// Returns the next message of the received bursts.
    fn pop(&self) -> Option<Inner::Data> {
        self.received.lock().pop_front()
    }
}

impl<Inner: Connection> Connection for NagleConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    forward!(self.shared.inner => base, mtu);

    async fn send(&self, message: Inner::Data) -> Result<(), Error> {
        self.shared.refused()?;
        let push = |gathered: &mut Gathered<_>, now| {
            gathered.push(message, now);
            Ok(())
        };
        self.shared.push(push).await
    }

    async fn recv(&self) -> Result<Inner::Data, Error> {
        loop {
            self.shared.check()?;
            if let Some(message) = self.pop() {
                // Another `recv` may find further messages.
                self.more.notify_one();
                return Ok(message);
            }
            let mut received = Received(&self.received);
            let recv = self.shared.inner.recv_batch(&mut received, self.burst);
            if let Either::Left((outcome, _)) = select(pin!(recv), pin!(self.more.notified())).await {
                outcome?;
            }
        }
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend([self.recv().await?]);
        let mut count = 1;
        while count < limit
            && let Some(message) = self.pop()
        {
            into.extend([message]);
            count += 1;
        }
        Ok(count)
    }

    async fn drain(&self) -> Result<(), Error> {
        self.shared.flush().await;
        self.shared.inner.drain().await?;
        self.shared.refused()
    }

    async fn close(&self) -> Result<(), Error> {
        self.shared.close();
        self.shared.flush().await;
        // The notification wakes senders that wait for capacity.
        self.shared.notify_sent();
        self.shared.inner.close().await?;
        self.received.lock().clear();
        self.shared.refused()
    }
}

impl<Inner: Connection> Drop for NagleConnection<Inner> {
    fn drop(&mut self) {
        let unreceived = std::mem::take(self.received.get_mut());
        self.shared.keep(unreceived);
    }
}

debug_fields!(NagleConnection<Inner: Connection> { burst });

/// Puts received messages where they are not lost if the call is dropped.
struct Received<'a, T>(&'a Mutex<VecDeque<T>>);

impl<T> Extend<T> for Received<'_, T> {
    fn extend<M: IntoIterator<Item = T>>(&mut self, messages: M) {
        for message in messages {
            self.0.lock().push_back(message);
        }
    }
}
