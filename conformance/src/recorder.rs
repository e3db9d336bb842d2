//! A layer that counts the calls which reach it.

use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity, map_output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A one-sided Chunnel that passes everything on and counts the calls that reach it.
///
/// Directly below a Chunnel under test, the recorder shows which calls the Chunnel passes on. Clones share
/// their counts.
#[derive(Debug, Clone, Default, Identity)]
#[chunnel(one_sided)]
pub struct Recorder {
    calls: Arc<Calls>,
}

/// Number of calls that reached the layer, by kind, and number of messages that went through it.
#[derive(Debug, Default)]
struct Calls {
    sent_alone: AtomicU64,
    sent_in_bursts: AtomicU64,
    received_alone: AtomicU64,
    received_in_bursts: AtomicU64,
    drains: AtomicU64,
    closes: AtomicU64,
}

/// The counts of a [`Recorder`] at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Recorded {
    pub(super) sent_alone: u64,
    pub(super) sent_in_bursts: u64,
    pub(super) received_alone: u64,
    pub(super) received_in_bursts: u64,
    pub(super) drains: u64,
    pub(super) closes: u64,
}

impl Recorder {
    /// Creates a layer that has counted nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the counts so far.
    pub(super) fn recorded(&self) -> Recorded {
        let calls = &self.calls;
        Recorded {
            sent_alone: calls.sent_alone.load(Relaxed),
            sent_in_bursts: calls.sent_in_bursts.load(Relaxed),
            received_alone: calls.received_alone.load(Relaxed),
            received_in_bursts: calls.received_in_bursts.load(Relaxed),
            drains: calls.drains.load(Relaxed),
            closes: calls.closes.load(Relaxed),
        }
    }
}

impl<Inner: Connection> Chunnel<Inner> for Recorder {
    type Connection = RecorderConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(RecorderConnection { inner, calls: self.calls.clone() })
    }
}

/// The connection of a [`Recorder`]: the connection below, with its calls counted.
#[derive(Debug)]
pub struct RecorderConnection<Inner> {
    inner: Inner,
    calls: Arc<Calls>,
}

impl<Inner: Connection> Connection for RecorderConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    fn send(&self, message: Inner::Data) -> impl Future<Output = Result<(), Error>> + Send {
        self.calls.sent_alone.fetch_add(1, Relaxed);
        self.inner.send(message)
    }

    fn recv(&self) -> impl Future<Output = Result<Inner::Data, Error>> + Send {
        map_output(self.inner.recv(), |received| {
            self.calls.received_alone.fetch_add(u64::from(received.is_ok()), Relaxed);
            received
        })
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Inner::Data> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.send_batch(messages.inspect(|_| {
            self.calls.sent_in_bursts.fetch_add(1, Relaxed);
        }))
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        map_output(self.inner.recv_batch(into, limit), |received| {
            self.calls.received_in_bursts.fetch_add(*received.as_ref().unwrap_or(&0) as u64, Relaxed);
            received
        })
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.calls.drains.fetch_add(1, Relaxed);
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.calls.closes.fetch_add(1, Relaxed);
        self.inner.close()
    }
}
