//! A connection that is local or encrypted.

use bertha_chunnels::tls::TlsConnection;
use bertha_core::{Buf, Connection, Error};
use bertha_local::MaybeLocalConnection;

/// The connection of [`TlsUnlessLocal`](crate::TlsUnlessLocal).
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each connection, which a box would make a load longer"
)]
pub enum TlsUnlessLocalConnection<Inner: Connection> {
    /// A connection through shared memory, without encryption.
    Local(MaybeLocalConnection<Inner>),
    /// A connection over TLS.
    Remote(TlsConnection<Inner>),
}

use TlsUnlessLocalConnection::{Local, Remote};

impl<Inner: Connection<Data = Buf>> Connection for TlsUnlessLocalConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        match self {
            Local(local) => local.base(),
            Remote(tls) => tls.base(),
        }
    }

    fn mtu(&self) -> usize {
        match self {
            Local(local) => local.mtu(),
            Remote(tls) => tls.mtu(),
        }
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        match self {
            Local(local) => local.send(message).await,
            Remote(tls) => tls.send(message).await,
        }
    }

    async fn recv(&self) -> Result<Buf, Error> {
        match self {
            Local(local) => local.recv().await,
            Remote(tls) => tls.recv().await,
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        match self {
            Local(local) => local.send_batch(messages).await,
            Remote(tls) => tls.send_batch(messages).await,
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        match self {
            Local(local) => local.recv_batch(into, limit).await,
            Remote(tls) => tls.recv_batch(into, limit).await,
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        match self {
            Local(local) => local.drain().await,
            Remote(tls) => tls.drain().await,
        }
    }

    async fn close(&self) -> Result<(), Error> {
        match self {
            Local(local) => local.close().await,
            Remote(tls) => tls.close().await,
        }
    }
}
