//! A layer that acts after the layer below it.

use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity, map_output};
use std::sync::atomic::{AtomicU64, Ordering};

/// A layer that waits for each call of the layer below, and counts failed calls, by [`map_output`].
///
/// `STACK` tells the layers of different stacks apart. Otherwise the stacks would share the code of their
/// lower layers. The compiler then keeps this code in functions of its own, while it inlines the layers of a
/// program with a single stack.
#[derive(Clone, Copy, Debug, Identity)]
#[chunnel(one_sided)]
pub(crate) struct Following<const STACK: usize>;

impl<const STACK: usize, Inner: Connection> Chunnel<Inner> for Following<STACK> {
    type Connection = FollowingConnection<STACK, Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(FollowingConnection { inner, failures: AtomicU64::new(0) })
    }
}

/// The connection of [`Following`].
#[derive(Debug)]
pub(crate) struct FollowingConnection<const STACK: usize, Inner> {
    inner: Inner,
    failures: AtomicU64,
}

impl<const STACK: usize, Inner> FollowingConnection<STACK, Inner> {
    #[inline]
    fn count<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if outcome.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }
}

impl<const STACK: usize, Inner: Connection> Connection for FollowingConnection<STACK, Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn send(&self, message: Inner::Data) -> impl Future<Output = Result<(), Error>> + Send {
        map_output(self.inner.send(message), |sent| self.count(sent))
    }

    fn recv(&self) -> impl Future<Output = Result<Inner::Data, Error>> + Send {
        map_output(self.inner.recv(), |received| self.count(received))
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Inner::Data> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        map_output(self.inner.send_batch(messages), |sent| self.count(sent))
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        map_output(self.inner.recv_batch(into, limit), |received| self.count(received))
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
