//! A layer that awaits the layer below it.

use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity};

/// Passes every message through like [`Nothing`](bertha_chunnels::Nothing), but in `async fn`s of its own: the cost of a
/// Chunnel with work to do before or after the call below.
///
/// `STACK` tells the layers of different stacks apart. Otherwise these would share the code of their lower layers, which
/// the compiler then keeps in functions of their own, while it dissolves those of a program with one stack.
#[derive(Clone, Copy, Debug, Identity)]
#[chunnel(one_sided)]
pub(crate) struct Awaiting<const STACK: usize>;

impl<const STACK: usize, Inner: Connection> Chunnel<Inner> for Awaiting<STACK> {
    type Connection = AwaitingConnection<STACK, Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(AwaitingConnection { inner })
    }
}

/// The connection of [`Awaiting`].
#[derive(Debug)]
pub(crate) struct AwaitingConnection<const STACK: usize, Inner> {
    inner: Inner,
}

impl<const STACK: usize, Inner: Connection> Connection for AwaitingConnection<STACK, Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    async fn send(&self, message: Inner::Data) -> Result<(), Error> {
        self.inner.send(message).await
    }

    async fn recv(&self) -> Result<Inner::Data, Error> {
        self.inner.recv().await
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Inner::Data> + Send) -> Result<(), Error> {
        self.inner.send_batch(messages).await
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        self.inner.recv_batch(into, limit).await
    }

    async fn drain(&self) -> Result<(), Error> {
        self.inner.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        self.inner.close().await
    }
}
