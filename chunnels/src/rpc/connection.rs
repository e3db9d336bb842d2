//! The connection that puts headers on, and takes them off.

use super::Message;
use super::decoding::Decoding;
use super::spans;
use super::wire::LONGEST;
use crate::burst::send_encoded;
use bertha_core::{Base, Buf, Connection, DropCounter, Error, PeerIdentity, debug_fields};
use std::fmt::Debug;

/// The connection of [`Rpc`](super::Rpc), for [`Client`](super::Client) or [`serve`](super::serve()).
///
/// It carries [messages](Message) one by one, both ways, and keeps the promises of [`Connection`]; calls are made of them by the two ends on
/// top, neither of which is a connection. Errors, backpressure and cancellation are those of the connection below. Messages without a header
/// are dropped and counted.
pub struct RpcConnection<Inner> {
    inner: Inner,
    decoding: Decoding,
}

impl<Inner: Connection<Data = Buf>> RpcConnection<Inner> {
    pub(super) fn new(inner: Inner, malformed: DropCounter) -> Self {
        inner.base().reserve(LONGEST + spans::HEADROOM);
        Self { inner, decoding: Decoding::new(malformed) }
    }

    /// Returns the number of messages that were dropped because they had no header.
    pub fn malformed(&self) -> u64 {
        self.decoding.malformed()
    }
}

impl<Inner: Connection<Data = Buf>> Connection for RpcConnection<Inner> {
    type Data = Message;
    type Base = Inner::Base;

    #[inline]
    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    #[inline]
    fn send(&self, message: Message) -> impl Future<Output = Result<(), Error>> + Send {
        let encoded = message.encode(self.inner.base());
        async move { self.inner.send(encoded?).await }
    }

    fn recv(&self) -> impl Future<Output = Result<Message, Error>> + Send {
        self.decoding.recv(&self.inner)
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Message> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        send_encoded(&self.inner, messages, |message| message.encode(self.inner.base()))
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<Message> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        self.decoding.recv_batch(&self.inner, into, limit)
    }

    fn peer_identity(&self) -> Option<PeerIdentity> {
        self.inner.peer_identity()
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

debug_fields!(RpcConnection<Inner: Debug> { inner });
