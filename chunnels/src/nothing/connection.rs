//! The connection that passes everything through.

use bertha_core::{Connection, Error};

/// The connection of [`Nothing`](super::Nothing): the connection below, in one more type.
#[derive(Debug, Clone)]
pub struct NothingConnection<Inner> {
    inner: Inner,
}

impl<Inner> NothingConnection<Inner> {
    pub(super) fn new(inner: Inner) -> Self {
        Self { inner }
    }
}

/// Each method returns the future from below instead of awaiting it, so this layer compiles to no code.
impl<Inner: Connection> Connection for NothingConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    #[inline]
    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    #[inline]
    fn send(&self, message: Inner::Data) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.send(message)
    }

    #[inline]
    fn recv(&self) -> impl Future<Output = Result<Inner::Data, Error>> + Send {
        self.inner.recv()
    }

    #[inline]
    fn send_batch(
        &self,
        messages: impl Iterator<Item = Inner::Data> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.send_batch(messages)
    }

    #[inline]
    fn recv_batch(
        &self,
        into: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        self.inner.recv_batch(into, limit)
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    #[inline]
    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
