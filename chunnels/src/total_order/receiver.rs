//! One order for the messages of each sender.

use super::Limits;
use super::arrivals::Arrivals;
use super::reception::{Reorders, extend, progress};
use crate::burst::send_encoded;
use bertha_core::statistics::Observed;
use bertha_core::{
    Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, Runtime, Statistics,
    debug_fields, forward,
};
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// The size of the header: sender and number, eight bytes each.
const HEADER: usize = 16;

/// Numbers messages at the sender, and orders each sender's messages at the receiver. See the
/// [module](crate::total_order).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Identity)]
pub struct ReceiverOrdered {
    limits: Limits,
}

impl ReceiverOrdered {
    /// Makes a Chunnel that waits 50 ms for a missing message, and buffers up to 4,096 early messages of each
    /// sender.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the gap time-out, after which a missing message is skipped.
    #[must_use]
    pub fn gap_timeout(mut self, timeout: Duration) -> Self {
        self.limits.gap_timeout = timeout;
        self
    }

    /// Sets the number of early messages of each sender that are buffered, at least one.
    #[must_use]
    pub fn capacity(mut self, messages: usize) -> Self {
        self.limits.capacity = messages.max(1);
        self
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for ReceiverOrdered {
    type Connection = ReceiverOrderedConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        // A message that is delivered again would come out of the order.
        inner.base().properties().refuse_receipts("ReceiverOrdered")?;
        inner.base().reserve(HEADER);
        let dropped = context.counts_drops("ReceiverOrdered", "repeated, late or malformed");
        let sender = inner.base().runtime().random();
        let arrivals = Arc::new(SharedArrivals(Mutex::new(Arrivals::new(self.limits, dropped))));
        context.observes(&arrivals);
        Ok(ReceiverOrderedConnection {
            inner,
            sender,
            next: AtomicU64::new(0),
            arrivals,
            ready: Notify::new(),
        })
    }
}

/// The messages that have arrived. Locked for one message at a time, never across an await.
struct SharedArrivals(Mutex<Arrivals<Buf>>);

impl Observed for SharedArrivals {
    fn observe(&self, into: &mut Statistics) {
        let statistics = self.0.lock().statistics(false);
        into.add("ReceiverOrdered", statistics);
    }
}

/// The connection of [`ReceiverOrdered`] over a connection that carries bytes.
///
/// A message is numbered when `send` is first polled; if the call fails or is cancelled later, the message is
/// missing at the receivers like a lost message. Errors and backpressure are those of the connection below.
pub struct ReceiverOrderedConnection<Inner> {
    inner: Inner,
    /// A random number that distinguishes this connection from all other senders, earlier connections of this
    /// end included.
    sender: u64,
    next: AtomicU64,
    arrivals: Arc<SharedArrivals>,
    /// Notified when another `recv`, whose future may be dropped, left a message to deliver or a new deadline.
    ready: Notify,
}

impl<Inner: Connection<Data = Buf>> ReceiverOrderedConnection<Inner> {
    /// Returns the number of messages that were dropped: duplicates, messages that arrived after they were
    /// skipped, and malformed messages.
    pub fn dropped(&self) -> u64 {
        self.arrivals.0.lock().dropped.get()
    }

    fn number(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() < HEADER {
            // The message has no headroom, since it is not from this connection's base.
            message = Buf::copy_of(&message, HEADER + self.inner.base().reserved())?;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let header = message.prepend(HEADER)?;
        header[..8].copy_from_slice(&self.sender.to_le_bytes());
        header[8..].copy_from_slice(&number.to_le_bytes());
        Ok(message)
    }

    fn pop(&self) -> Option<Buf> {
        let mut arrivals = self.arrivals.0.lock();
        let taken = arrivals.pop();
        if arrivals.has_ready() {
            self.ready.notify_one();
        }
        taken
    }
}

impl<Inner: Connection<Data = Buf>> Reorders for ReceiverOrderedConnection<Inner> {
    type Inner = Inner;
    type Message = Buf;

    fn inner(&self) -> &Inner {
        &self.inner
    }

    fn ready(&self) -> &Notify {
        &self.ready
    }

    fn arrivals(&self) -> MappedMutexGuard<'_, Arrivals<Buf>> {
        MutexGuard::map(self.arrivals.0.lock(), |arrivals| arrivals)
    }

    fn insert(&self, mut message: Buf) {
        let now = self.inner.base().runtime().now();
        let mut arrivals = self.arrivals.0.lock();
        let header = message.first_chunk::<HEADER>().copied();
        match header {
            Some(header) if message.advance(HEADER).is_ok() => {
                let number = u128::from_le_bytes(header);
                if arrivals.insert(now, number as u64, (number >> 64) as u64, message) {
                    self.ready.notify_waiters();
                }
            }
            _ => arrivals.dropped.add(1),
        }
    }
}

impl<Inner: Connection<Data = Buf>> Connection for ReceiverOrderedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain, close);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.number(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.pop() {
                return Ok(message);
            }
            progress(self).await?;
        }
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Buf> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        send_encoded(&self.inner, messages, |message| self.number(message))
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        Ok(extend(into, limit, self.recv().await?, || self.pop()))
    }
}

debug_fields!(ReceiverOrderedConnection<Inner: Debug> { inner });
