//! Each sender's messages in the order in which they were sent.

use super::Limits;
use super::arrivals::Arrivals;
use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, Runtime};
use futures_util::future::{FutureExt, pending};
use futures_util::select_biased;
use parking_lot::Mutex;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Sender and number, eight bytes each.
const HEADER: usize = 16;

/// Numbers messages when they are sent, and has the receiver put each sender's in order. See the
/// [module](crate::total_order).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Identity)]
pub struct ReceiverOrdered {
    limits: Limits,
}

impl ReceiverOrdered {
    /// Waits 50 ms for a message that is missing, and keeps up to 4,096 of each sender that came before their turn.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits so long for a message that is missing.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.limits.patience = patience;
        self
    }

    /// Keeps up to `messages` of each sender that came before their turn; at least one.
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
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        inner.base().reserve(HEADER);
        let sender = inner.base().runtime().random();
        let arrivals = Mutex::new(Arrivals::new(self.limits));
        Ok(ReceiverOrderedConnection {
            inner,
            sender,
            next: AtomicU64::new(0),
            arrivals,
            ready: Notify::new(),
        })
    }
}

/// What [`ReceiverOrdered`] makes of a connection that carries bytes.
///
/// Messages are numbered when `send` is first polled; one that fails or is cancelled then is missing for the receivers as if it had been
/// lost.
pub struct ReceiverOrderedConnection<Inner> {
    inner: Inner,
    /// Drawn at random; tells this sender from others, and from an earlier life of its own.
    sender: u64,
    next: AtomicU64,
    /// Locked for one message or burst at a time, never while waiting.
    arrivals: Mutex<Arrivals<Buf>>,
    /// Another receiver left a message whose turn it is, or one that waits for a time that others have to know: its call may
    /// be cancelled.
    ready: Notify,
}

impl<Inner: Connection<Data = Buf>> ReceiverOrderedConnection<Inner> {
    /// How many messages were dropped: they came twice, after they were passed over, or without a number.
    pub fn dropped(&self) -> u64 {
        self.arrivals.lock().dropped
    }

    fn seal(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() < HEADER {
            // Made elsewhere than by this connection's base.
            message = Buf::copy_of(&message, HEADER + self.inner.base().reserved())?;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let header = message.prepend(HEADER)?;
        header[..8].copy_from_slice(&self.sender.to_le_bytes());
        header[8..].copy_from_slice(&number.to_le_bytes());
        Ok(message)
    }

    fn insert(&self, mut message: Buf) {
        let now = self.inner.base().runtime().now();
        let mut arrivals = self.arrivals.lock();
        let header = message.first_chunk::<HEADER>().copied();
        match header {
            Some(header) if message.advance(HEADER).is_ok() => {
                let number = u128::from_le_bytes(header);
                if arrivals.insert(now, number as u64, (number >> 64) as u64, message) {
                    self.ready.notify_waiters();
                }
            }
            _ => arrivals.dropped += 1,
        }
    }

    fn take(&self) -> Option<Buf> {
        let mut arrivals = self.arrivals.lock();
        let taken = arrivals.pop();
        if arrivals.has_ready() {
            self.ready.notify_one();
        }
        taken
    }

    /// Waits for whatever happens next.
    async fn more(&self) -> Result<(), Error> {
        let runtime = self.inner.base().runtime();
        // Before it looks, so that it hears of whatever happens after that.
        let mut ready = pin!(self.ready.notified().fuse());
        let deadline = self.arrivals.lock().deadline();
        let mut late = pin!(
            async {
                match deadline {
                    Some(deadline) => runtime.sleep_until(deadline).await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let mut receiving = pin!(self.inner.recv().fuse());
        select_biased! {
            message = receiving => match message {
                Ok(message) => self.insert(message),
                Err(error) => {
                    let mut arrivals = self.arrivals.lock();
                    arrivals.flush(runtime.now());
                    if !arrivals.has_ready() {
                        return Err(error);
                    }
                }
            },
            () = ready => {}
            () = late => self.arrivals.lock().expire(runtime.now()),
        }
        Ok(())
    }
}

impl<Inner: Connection<Data = Buf>> Connection for ReceiverOrderedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.seal(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.take() {
                return Ok(message);
            }
            self.more().await?;
        }
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

impl<Inner: fmt::Debug> fmt::Debug for ReceiverOrderedConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiverOrderedConnection").field("inner", &self.inner).finish_non_exhaustive()
    }
}
