//! The connection that applications hold.

use super::filling::Filling;
use super::frame;
use crate::gathering::{self, GatheringShared, Task};
use bertha_core::statistics::Observed;
use bertha_core::{Base, Buf, Connection, DropCounter, Error, ErrorKind, debug_fields, forward};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The connection of [`Batch`](super::Batch) over a connection that carries bytes.
///
/// `send` is ready once the message is in a batch; it waits while sixteen batches wait to be sent. `close`
/// first sends the waiting messages; dropping the connection drops them. Dropping the future of `recv` loses
/// nothing. Batches whose messages were not all received are dropped after the connection below, so that a
/// queue delivers them again.
///
/// # Errors
/// `send` fails with [`TooLarge`](ErrorKind::TooLarge) for a message that does not fit below. If sending a
/// batch fails below and the error ends the connection, every later `send` fails with that error; after any
/// other error the batch is [lost](Self::lost).
pub struct BatchConnection<Inner: Connection> {
    shared: Arc<GatheringShared<Inner, Filling>>,
    /// The size of the headers of this layer and of the layers below, in bytes.
    below: usize,
    /// Received batches with messages that were not handed out yet: at most one batch for each concurrent
    /// `recv`.
    received: Mutex<VecDeque<Buf>>,
    /// Notified when another `recv` left messages in `received`.
    more: Notify,
    malformed: DropCounter,
    /// Ends the task with the connection.
    _task: Task<Inner>,
}

impl<Inner: Connection<Data = Buf>> BatchConnection<Inner> {
    pub(super) fn new(inner: Inner, bytes: usize, wait: Duration, malformed: DropCounter) -> Self {
        let base = inner.base();
        let max = inner.mtu().saturating_sub(base.reserved());
        base.reserve(frame::MAX_HEADER);
        let below = base.reserved();
        let filling = Filling::new(bytes.clamp(frame::MAX_HEADER, max.max(frame::MAX_HEADER)), wait);
        let shared = Arc::new(GatheringShared::new("Batch", inner, filling));
        let _task = gathering::spawn(&shared);
        let received = Default::default();
        Self { shared, below, received, more: Notify::new(), malformed, _task }
    }

    /// Returns the number of batches of which a part was dropped as malformed.
    pub fn malformed(&self) -> u64 {
        self.malformed.get()
    }

    /// Returns the number of batches that the connection below failed to send.
    pub fn lost(&self) -> u64 {
        self.shared.state.lock().counts.refusals
    }

    /// Returns the state, which tells about itself.
    pub(super) fn observed(&self) -> &Arc<impl Observed + use<Inner>> {
        &self.shared
    }

    /// Returns a buffer for a batch, without the headroom of the layers above.
    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        let base = self.shared.inner.base();
        let spare = (base.reserved().saturating_sub(self.below) + frame::MAX_HEADER).min(len);
        let mut buf = base.buffer(len - spare)?;
        buf.prepend(spare)?;
        Ok(buf)
    }

    async fn push(&self, message: Buf) -> Result<(), Error> {
        let max = self.shared.inner.mtu().saturating_sub(self.below);
        if message.len() > max {
            return Err(too_large(message.len(), max));
        }
        self.shared.push(|filling, now| filling.push(message, now, |len| self.buffer(len))).await
    }

    /// Returns the next message of the received batches.
    fn pop(&self) -> Option<Buf> {
        let mut received = self.received.lock();
        loop {
            let batch = received.front_mut()?;
            match frame::decode(batch) {
                Some(message) => {
                    if batch.is_empty() {
                        // Nothing is left of the batch but its messages.
                        received.pop_front().into_iter().for_each(Buf::done);
                    }
                    return Some(message);
                }
                None if batch.is_empty() => received.pop_front().into_iter().for_each(Buf::done),
                None => {
                    self.malformed.add(1);
                    received.pop_front();
                }
            }
        }
    }
}

#[cold]
fn too_large(len: usize, max: usize) -> Error {
    let what =
        format!("message of {len} bytes, at most {max} fit below; put Fragment above to split messages");
    Error::new(ErrorKind::TooLarge, what).at("Batch")
}

impl<Inner: Connection<Data = Buf>> Connection for BatchConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.shared.inner => base, mtu);

    fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        self.push(message)
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            self.shared.check()?;
            if let Some(message) = self.pop() {
                // Another `recv` may find further messages.
                self.more.notify_one();
                return Ok(message);
            }
            match select(pin!(self.shared.inner.recv()), pin!(self.more.notified())).await {
                Either::Left((batch, _)) => self.received.lock().push_back(batch?),
                Either::Right(_) => {}
            }
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend([self.recv().await?]);
        let rest = std::iter::from_fn(|| self.pop()).take(limit - 1);
        let mut count = 1;
        into.extend(rest.inspect(|_| count += 1));
        Ok(count)
    }

    async fn drain(&self) -> Result<(), Error> {
        self.shared.flush().await;
        self.shared.inner.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        self.shared.close();
        self.shared.flush().await;
        // The notification wakes senders that wait for capacity.
        self.shared.notify_sent();
        let closed = self.shared.inner.close().await;
        self.received.lock().clear();
        closed
    }
}

impl<Inner: Connection> Drop for BatchConnection<Inner> {
    fn drop(&mut self) {
        let unreceived = std::mem::take(self.received.get_mut());
        self.shared.keep(unreceived);
    }
}

debug_fields!(BatchConnection<Inner: Connection> { malformed });
