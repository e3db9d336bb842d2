//! A layer that does nothing, once per stack.

use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity};

/// Passes every message through, as [`Nothing`](bertha_chunnels::Nothing) does.
///
/// `STACK` tells the layers of different stacks apart. Otherwise these would share the code of what is compiled for one stack, and
/// so dissolve less of it than a program that has one alone.
#[derive(Clone, Copy, Debug, Identity)]
#[chunnel(one_sided)]
pub(super) struct Passing<const STACK: usize>;

impl<const STACK: usize, Inner: Connection> Chunnel<Inner> for Passing<STACK> {
    type Connection = PassingConnection<STACK, Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(PassingConnection { inner })
    }
}

/// What [`Passing`] makes of a connection.
#[derive(Debug)]
pub(super) struct PassingConnection<const STACK: usize, Inner> {
    inner: Inner,
}

impl<const STACK: usize, Inner: Connection> Connection for PassingConnection<STACK, Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn send(&self, message: Inner::Data) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.send(message)
    }

    fn recv(&self) -> impl Future<Output = Result<Inner::Data, Error>> + Send {
        self.inner.recv()
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Inner::Data> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.send_batch(messages)
    }

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

    async fn close(&self) -> Result<(), Error> {
        self.inner.close().await
    }
}
