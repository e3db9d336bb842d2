//! The connection that encrypts headers and bodies together.

use crate::rpc::Message;
use crate::rpc::decoding::Decoding;
use crate::rpc::spans;
use crate::rpc::wire::{Header, LONGEST};
use crate::tls::{Parts, TlsConnection};
use bertha_core::{Base, Connection, DropCounter, Error, Octets, PeerIdentity, debug_fields};

/// The connection of [`RpcWithTls`](super::RpcWithTls), for [`Client`](crate::rpc::Client) or [`serve`](crate::rpc::serve()).
///
/// Errors, backpressure and cancellation are those of [`TlsConnection`]. Messages without a header are dropped and counted.
pub struct RpcWithTlsConnection<Inner> {
    tls: TlsConnection<Inner>,
    decoding: Decoding,
}

impl<Inner: Connection<Data: Octets>> RpcWithTlsConnection<Inner> {
    pub(super) fn new(tls: TlsConnection<Inner>, malformed: DropCounter) -> Self {
        // A trace goes in front of the body.
        tls.base().reserve(spans::HEADROOM);
        Self { tls, decoding: Decoding::new(malformed) }
    }

    /// Returns the number of messages that were dropped because they had no header.
    pub fn malformed(&self) -> u64 {
        self.decoding.malformed()
    }
}

/// A message, and its header.
struct Headed {
    header: Header,
    message: Message,
}

impl From<Message> for Headed {
    #[inline]
    fn from(message: Message) -> Self {
        Self { header: Header::new(message.call, message.content, message.has_metadata), message }
    }
}

impl Parts for Headed {
    #[inline]
    fn head(&self) -> &[u8] {
        self.header.bytes()
    }

    #[inline]
    fn body(&self) -> &[u8] {
        self.message.body()
    }
}

impl<Inner: Connection<Data: Octets>> Connection for RpcWithTlsConnection<Inner> {
    type Data = Message;
    type Base = Inner::Base;

    #[inline]
    fn base(&self) -> &Inner::Base {
        self.tls.base()
    }

    /// That of TLS less the longest header, which takes none of the headroom.
    fn mtu(&self) -> usize {
        self.tls.mtu() - LONGEST
    }

    #[inline]
    fn send(&self, message: Message) -> impl Future<Output = Result<(), Error>> + Send {
        self.tls.send_parts(std::iter::once(Headed::from(message)))
    }

    fn recv(&self) -> impl Future<Output = Result<Message, Error>> + Send {
        self.decoding.recv(&self.tls)
    }

    #[inline]
    fn send_batch(
        &self,
        messages: impl Iterator<Item = Message> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.tls.send_parts(messages.map(Headed::from))
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<Message> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        self.decoding.recv_batch(&self.tls, into, limit)
    }

    fn peer_identity(&self) -> Option<PeerIdentity> {
        self.tls.peer_identity()
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.tls.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.tls.close()
    }
}

debug_fields!(RpcWithTlsConnection<Inner> { tls });
