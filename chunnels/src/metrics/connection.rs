//! The connection that counts.

use super::TARGET;
use super::counters::{Counters, Direction};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime, debug_fields, forward, map_output};
use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// The connection of [`Metrics`](super::Metrics) over any connection.
///
/// Errors, loss, backpressure and cancellation are those of the connection below.
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

    fn on_sent(&self, since: Instant, messages: u64, bytes: u64, outcome: &Result<(), Error>) {
        self.counters.sent.on_messages(messages, bytes);
        match outcome {
            Ok(()) => self.counters.latency.record(self.now().saturating_duration_since(since)),
            Err(error) => count_error(&self.counters.sent, error),
        }
        tracing::trace!(target: TARGET, position = %self.position, messages, bytes, "sent");
    }

    fn on_received(&self, messages: u64, bytes: u64) {
        self.counters.received.on_messages(messages, bytes);
        tracing::trace!(target: TARGET, position = %self.position, messages, bytes, "received");
    }

    fn on_recv_error(&self, error: Error) -> Error {
        count_error(&self.counters.received, &error);
        error
    }
}

/// Counts an error, unless the connection was closed, which is its regular end.
#[cold]
fn count_error(direction: &Direction, error: &Error) {
    if error.kind() != ErrorKind::Closed {
        direction.on_error();
    }
}

/// Returns the length of a message, if it is a `Buf`. The type is known at compile time, so the comparison
/// costs nothing.
#[inline]
fn bytes_in<M: 'static>(message: &M) -> u64 {
    (message as &dyn Any).downcast_ref::<Buf>().map_or(0, |buf| buf.len() as u64)
}

impl<Inner: Connection> Connection for MetricsConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain, close);

    fn send(&self, message: Inner::Data) -> impl Future<Output = Result<(), Error>> + Send {
        let since = self.now();
        let bytes = bytes_in(&message);
        map_output(self.inner.send(message), move |outcome| {
            let (messages, bytes) = if outcome.is_ok() { (1, bytes) } else { (0, 0) };
            self.on_sent(since, messages, bytes, &outcome);
            outcome
        })
    }

    fn recv(&self) -> impl Future<Output = Result<Inner::Data, Error>> + Send {
        map_output(self.inner.recv(), |received| {
            let message = received.map_err(|error| self.on_recv_error(error))?;
            self.on_received(1, bytes_in(&message));
            Ok(message)
        })
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Inner::Data> + Send) -> Result<(), Error> {
        let mut count = 0;
        let mut bytes = 0;
        let since = self.now();
        let counted = messages.inspect(|message| {
            count += 1;
            bytes += bytes_in(message);
        });
        let outcome = self.inner.send_batch(counted).await;
        self.on_sent(since, count, bytes, &outcome);
        outcome
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut counted = Counted { into, messages: 0, bytes: 0 };
        let outcome = self.inner.recv_batch(&mut counted, limit).await;
        self.on_received(counted.messages, counted.bytes);
        outcome.map_err(|error| self.on_recv_error(error))
    }
}

/// Counts the messages of a burst.
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

debug_fields!(MetricsConnection<Inner: Debug> { inner, position });
