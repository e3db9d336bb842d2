//! The connection that delays messages to keep the rate.

use super::statistics::WaitingSenders;
use bertha_core::token_bucket::{Rate, TokenBucket};
use bertha_core::{Base, Buf, Connection, Error, Runtime, debug_fields, forward};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, MutexGuard};

/// The connection of [`Pace`](super::Pace) over a connection that carries bytes.
///
/// A `send` whose future is dropped while it waits has sent nothing, and takes nothing from the rate. Errors and
/// loss are those of the connection below; a message that fails there counts as sent.
pub struct PaceConnection<Inner> {
    inner: Inner,
    rate: Rate,
    /// The size of the headers of the layers below, in bytes.
    below: usize,
    start: Instant,
    /// Held while a sender waits, so that senders take turns.
    bucket: Mutex<TokenBucket>,
    waiting: Arc<WaitingSenders>,
}

impl<Inner: Connection<Data = Buf>> PaceConnection<Inner> {
    pub(super) fn new(inner: Inner, rate: Rate) -> Self {
        let base = inner.base();
        let below = base.reserved();
        let start = base.runtime().now();
        let bucket = Mutex::new(TokenBucket::new(rate.burst));
        Self { inner, rate, below, start, bucket, waiting: WaitingSenders::new(rate) }
    }

    /// Returns the waiting senders, which tell about themselves.
    pub(super) fn observed(&self) -> &Arc<WaitingSenders> {
        &self.waiting
    }

    fn now(&self) -> Duration {
        self.inner.base().runtime().now().saturating_duration_since(self.start)
    }

    fn cost(&self, message: &Buf) -> u64 {
        (message.len() + self.below) as u64
    }

    fn wait(&self, bucket: &mut TokenBucket) -> Option<Duration> {
        bucket.ready_at(self.now(), self.rate)
    }

    /// Waits until a message may be sent.
    async fn turn(&self) -> MutexGuard<'_, TokenBucket> {
        let mut waiting = None;
        let mut bucket = match self.bucket.try_lock() {
            Ok(bucket) => bucket,
            Err(_) => {
                waiting = Some(self.waiting.enter());
                self.bucket.lock().await
            }
        };
        while let Some(until) = self.wait(&mut bucket) {
            waiting.get_or_insert_with(|| self.waiting.enter());
            self.inner.base().runtime().sleep_until(self.start + until).await;
        }
        bucket
    }
}

impl<Inner: Connection<Data = Buf>> Connection for PaceConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, recv, recv_batch, drain, close);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.turn().await.spend(self.cost(&message));
        self.inner.send(message).await
    }

    /// Sends bursts as large as the bucket allows.
    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        let mut messages = messages.peekable();
        while messages.peek().is_some() {
            let mut bucket = self.turn().await;
            let now_due = std::iter::from_fn(|| match self.wait(&mut bucket) {
                Some(_) => None,
                None => messages.next().inspect(|message| bucket.spend(self.cost(message))),
            });
            self.inner.send_batch(now_due).await?;
        }
        Ok(())
    }
}

debug_fields!(PaceConnection<Inner: Debug> { inner, rate });
