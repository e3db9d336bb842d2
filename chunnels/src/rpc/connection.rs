//! The connection that puts headers on, and takes them off.

use super::Message;
use super::trace;
use super::wire::LONGEST;
use crate::burst::{Decoded, send_encoded};
use bertha_core::{Base, Buf, Connection, DropCounter, Error};
use std::fmt;

/// The connection of [`Rpc`](super::Rpc), for [`Client`](super::Client) or [`serve`](super::serve()).
///
/// It carries [messages](Message) one by one, both ways, and keeps the promises of [`Connection`]; calls are made of them by the two ends on
/// top, neither of which is a connection. Errors, backpressure and cancellation are those of the connection below. Messages without a header
/// are dropped and counted.
pub struct RpcConnection<Inner> {
    inner: Inner,
    malformed: DropCounter,
}

impl<Inner: Connection<Data = Buf>> RpcConnection<Inner> {
    pub(super) fn new(inner: Inner, malformed: DropCounter) -> Self {
        inner.base().reserve(LONGEST + trace::HEADROOM);
        Self { inner, malformed }
    }

    /// The number of messages that were dropped because they had no header.
    pub fn malformed(&self) -> u64 {
        self.malformed.get()
    }

    #[inline]
    fn decode(&self, bytes: Buf) -> Option<Message> {
        let message = Message::decode(bytes);
        if message.is_none() {
            self.malformed.add(1);
        }
        message
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

    async fn recv(&self) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.decode(self.inner.recv().await?) {
                return Ok(message);
            }
        }
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Message> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        send_encoded(&self.inner, messages, |message| message.encode(self.inner.base()))
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<Message> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut decoded = Decoded { into, decode: |bytes| self.decode(bytes), count: 0 };
        // A burst of malformed messages alone would return zero.
        while decoded.count == 0 && limit > 0 {
            self.inner.recv_batch(&mut decoded, limit).await?;
        }
        Ok(decoded.count)
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

impl<Inner: fmt::Debug> fmt::Debug for RpcConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcConnection").field("inner", &self.inner).finish_non_exhaustive()
    }
}
