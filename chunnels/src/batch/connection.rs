//! The connection that applications hold.

use super::filling::Filling;
use super::frame;
use super::task::{self, Shared};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::Notify;

/// What [`Batch`](super::Batch) makes of a connection that carries bytes.
///
/// `send` is ready once the message is in a batch; it waits while sixteen batches wait to be sent. `close` sends what is
/// left first. Dropping the connection drops it. Dropping the future of `recv` loses nothing.
///
/// # Errors
/// `send` fails with [`TooLarge`](ErrorKind::TooLarge) for a message that does not fit below, alone. Other errors of the
/// connection below are those of the next `send` after the batch that met them.
pub struct BatchConnection<Inner: Connection> {
    shared: Arc<Shared<Inner>>,
    /// What the layers from this one down put in front of a message.
    below: usize,
    /// Batches that were received and not taken apart completely: as many as there are receivers, at most.
    received: Mutex<VecDeque<Buf>>,
    /// Another receiver left something there.
    more: Notify,
    malformed: AtomicU64,
    /// Ends the task with the connection.
    _task: <<Inner::Base as Base>::Runtime as Runtime>::Task,
}

impl<Inner: Connection<Data = Buf>> BatchConnection<Inner> {
    pub(super) fn new(inner: Inner, bytes: usize, wait: Duration) -> Self {
        let base = inner.base();
        let most = inner.mtu().saturating_sub(base.reserved());
        base.reserve(frame::MOST);
        let below = base.reserved();
        let shared =
            Arc::new(Shared::new(inner, Filling::new(bytes.clamp(frame::MOST, most.max(frame::MOST)), wait)));
        let task = shared.inner.base().runtime().spawn(task::run(shared.clone()));
        let (received, malformed) = Default::default();
        Self { shared, below, received, more: Notify::new(), malformed, _task: task }
    }

    /// How many batches were dropped, or cut short, since they were malformed.
    pub fn malformed(&self) -> u64 {
        self.malformed.load(Relaxed)
    }

    /// How many batches the connection below refused to send.
    pub fn lost(&self) -> u64 {
        self.shared.state.lock().lost
    }

    /// A buffer for a batch. Layers above need no room in it.
    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        let base = self.shared.inner.base();
        let spare = (base.reserved().saturating_sub(self.below) + frame::MOST).min(len);
        let mut buf = base.buffer(len - spare)?;
        buf.prepend(spare)?;
        Ok(buf)
    }

    async fn push(&self, message: Buf) -> Result<(), Error> {
        let most = self.shared.inner.mtu().saturating_sub(self.below);
        if message.len() > most {
            return Err(too_large(message.len(), most));
        }
        loop {
            // Made before looking, so that a change in between is not missed.
            let changed = self.shared.sent.notified();
            let now = self.shared.now();
            {
                let mut state = self.shared.state.lock();
                if let Some((kind, what)) = &state.failure {
                    return Err(Error::new(*kind, what.clone()).at("Batch"));
                }
                if state.is_closed {
                    return Err(closed());
                }
                if state.filling.has_room() {
                    let was_empty = state.filling.is_empty();
                    let pushed = state.filling.push(message, now, |len| self.buffer(len));
                    if was_empty || state.filling.due().is_some_and(|due| due <= now) {
                        self.shared.depart.notify_one();
                    }
                    return pushed;
                }
            }
            changed.await;
        }
    }

    /// The next message of what was received.
    fn take(&self) -> Option<Buf> {
        let mut received = self.received.lock();
        loop {
            let batch = received.front_mut()?;
            if batch.is_empty() {
                received.pop_front();
                continue;
            }
            match frame::take(batch) {
                Some(message) => return Some(message),
                None => {
                    self.malformed.fetch_add(1, Relaxed);
                    received.pop_front();
                }
            }
        }
    }

    /// Sends what there is at once, and waits until it has gone, or nothing goes any more.
    async fn emptied(&self) {
        self.shared.state.lock().filling.flush();
        self.shared.depart.notify_one();
        loop {
            // Made before looking, so that a change in between is not missed.
            let changed = self.shared.sent.notified();
            {
                let state = self.shared.state.lock();
                if state.failure.is_some() || (state.filling.is_empty() && !state.is_sending) {
                    return;
                }
            }
            changed.await;
        }
    }

    fn check(&self) -> Result<(), Error> {
        if self.shared.state.lock().is_closed { Err(closed()) } else { Ok(()) }
    }
}

#[cold]
fn too_large(len: usize, most: usize) -> Error {
    Error::new(ErrorKind::TooLarge, format!("message of {len} bytes, at most {most} fit")).at("Batch")
}

#[cold]
fn closed() -> Error {
    Error::new(ErrorKind::Closed, "this end closed the connection").at("Batch")
}

impl<Inner: Connection<Data = Buf>> Connection for BatchConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.shared.inner.base()
    }

    fn mtu(&self) -> usize {
        self.shared.inner.mtu()
    }

    fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        self.push(message)
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            self.check()?;
            if let Some(message) = self.take() {
                // There may be more for another who waits.
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
        let rest = std::iter::from_fn(|| self.take()).take(limit - 1);
        let mut count = 1;
        into.extend(rest.inspect(|_| count += 1));
        Ok(count)
    }

    async fn drain(&self) -> Result<(), Error> {
        self.emptied().await;
        self.shared.inner.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        self.shared.state.lock().is_closed = true;
        self.received.lock().clear();
        self.emptied().await;
        // Wakes senders that wait for room.
        self.shared.sent.notify_waiters();
        self.shared.inner.close().await
    }
}

impl<Inner: Connection> fmt::Debug for BatchConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchConnection").field("malformed", &self.malformed).finish_non_exhaustive()
    }
}
