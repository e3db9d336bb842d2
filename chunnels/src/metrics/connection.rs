//! The connection that counts.

use super::TARGET;
use super::counters::{Counters, Direction};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime, map_output};
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// What [`Metrics`](super::Metrics) makes of a connection: the same, with its messages counted.
///
/// Errors, loss, backpressure and what dropping a future means are those of the connection below.
pub struct MetricsConnection<Inner> {
    inner: Inner,
    position: Cow<'static, str>,
    counters: Arc<Counters>,
}

impl<Inner: Connection> MetricsConnection<Inner> {
    pub(super) fn new(inner: Inner, position: Cow<'static, str>, counters: Arc<Counters>) -> Self {
        counters.connections.fetch_add(1, Relaxed);
        Self { inner, position, counters }
    }

    fn now(&self) -> Instant {
        self.inner.base().runtime().now()
    }

    fn sent(&self, since: Instant, messages: u64, bytes: u64, outcome: &Result<(), Error>) {
        self.counters.sent.passed(messages, bytes);
        match outcome {
            Ok(()) => self.counters.latency.record(self.now().saturating_duration_since(since)),
            Err(error) => failed(&self.counters.sent, error),
        }
        tracing::trace!(target: TARGET, position = %self.position, messages, bytes, "sent");
    }

    fn received(&self, messages: u64, bytes: u64) {
        self.counters.received.passed(messages, bytes);
        tracing::trace!(target: TARGET, position = %self.position, messages, bytes, "received");
    }

    fn failed(&self, error: Error) -> Error {
        failed(&self.counters.received, &error);
        error
    }
}

/// A connection that was closed has come to its end, and has not failed.
#[cold]
fn failed(direction: &Direction, error: &Error) {
    if error.kind() != ErrorKind::Closed {
        direction.failed();
    }
}

/// How long a message is, if it is bytes. The compiler knows the type, so that nothing of the comparison is left.
#[inline]
fn bytes_in<M: 'static>(message: &M) -> u64 {
    (message as &dyn Any).downcast_ref::<Buf>().map_or(0, |buf| buf.len() as u64)
}

impl<Inner: Connection> Connection for MetricsConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    fn send(&self, message: Inner::Data) -> impl Future<Output = Result<(), Error>> + Send {
        let (since, bytes) = (self.now(), bytes_in(&message));
        map_output(self.inner.send(message), move |outcome| {
            let (messages, bytes) = if outcome.is_ok() { (1, bytes) } else { (0, 0) };
            self.sent(since, messages, bytes, &outcome);
            outcome
        })
    }

    fn recv(&self) -> impl Future<Output = Result<Inner::Data, Error>> + Send {
        map_output(self.inner.recv(), |received| {
            let message = received.map_err(|error| self.failed(error))?;
            self.received(1, bytes_in(&message));
            Ok(message)
        })
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Inner::Data> + Send) -> Result<(), Error> {
        let (mut count, mut bytes) = (0, 0);
        let since = self.now();
        let counted = messages.inspect(|message| {
            count += 1;
            bytes += bytes_in(message);
        });
        let outcome = self.inner.send_batch(counted).await;
        self.sent(since, count, bytes, &outcome);
        outcome
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut counted = Counted { into, messages: 0, bytes: 0 };
        let outcome = self.inner.recv_batch(&mut counted, limit).await;
        self.received(counted.messages, counted.bytes);
        outcome.map_err(|error| self.failed(error))
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

/// Hands on what comes from below, and counts it.
struct Counted<'a, Into> {
    into: &'a mut Into,
    messages: u64,
    bytes: u64,
}

impl<Into: Extend<M>, M: 'static> Extend<M> for Counted<'_, Into> {
    fn extend<I: IntoIterator<Item = M>>(&mut self, messages: I) {
        self.into.extend(messages.into_iter().inspect(|message| {
            self.messages += 1;
            self.bytes += bytes_in(message);
        }));
    }
}

impl<Inner> Drop for MetricsConnection<Inner> {
    fn drop(&mut self) {
        self.counters.connections.fetch_sub(1, Relaxed);
    }
}

impl<Inner: fmt::Debug> fmt::Debug for MetricsConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsConnection")
            .field("inner", &self.inner)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
