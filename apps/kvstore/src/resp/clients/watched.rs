//! A connection that notes when its client sends or takes bytes.

use super::Client;
use bertha::prelude::*;
use bertha::{Chunk, Error};
use std::sync::Arc;
use std::time::Instant;

/// A connection that notes in its [`Client`] when bytes arrive and when the client has taken some. Everything else is as below.
#[derive(Debug)]
pub(in crate::resp) struct Watched<C> {
    inner: C,
    client: Arc<Client>,
}

impl<C> Watched<C> {
    pub(in crate::resp) fn new(inner: C, client: Arc<Client>) -> Self {
        Self { inner, client }
    }

    fn noted<T>(&self, done: Result<T, Error>) -> Result<T, Error> {
        self.client.hear(Instant::now());
        done
    }
}

impl<C: Connection<Data = Chunk>> Connection for Watched<C> {
    type Data = Chunk;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    async fn send(&self, bytes: Chunk) -> Result<(), Error> {
        self.noted(self.inner.send(bytes).await)
    }

    async fn recv(&self) -> Result<Chunk, Error> {
        self.noted(self.inner.recv().await)
    }

    async fn send_batch(&self, bytes: impl Iterator<Item = Chunk> + Send) -> Result<(), Error> {
        self.noted(self.inner.send_batch(bytes).await)
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Chunk> + Send), limit: usize) -> Result<usize, Error> {
        self.noted(self.inner.recv_batch(into, limit).await)
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
