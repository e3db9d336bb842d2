//! The connection that adds checksums and verifies them.

use crate::burst::{Decoded, send_encoded};
use bertha_core::{Buf, Connection, DropCounter, Error, forward};

/// The bytes of a checksum.
pub(super) const CHECK: usize = 4;

/// The connection of [`Checksum`](super::Checksum) over a connection that carries bytes.
///
/// Loss and backpressure are those of the connection below, and damaged messages are lost as well. `send`
/// copies a message without headroom; a message from [`Base::buffer`](bertha_core::Base::buffer) has
/// headroom.
///
/// # Errors
/// The errors of the connection below.
#[derive(Debug)]
pub struct ChecksumConnection<Inner> {
    inner: Inner,
    /// The size of the headers of the layers below, in bytes.
    below: usize,
    damaged: DropCounter,
}

impl<Inner: Connection<Data = Buf>> ChecksumConnection<Inner> {
    pub(super) fn new(inner: Inner, below: usize, damaged: DropCounter) -> Self {
        Self { inner, below, damaged }
    }

    /// Returns the number of messages that were dropped since their checksum was wrong or missing.
    pub fn damaged(&self) -> u64 {
        self.damaged.get()
    }

    /// Puts the checksum in front of a message.
    #[inline]
    fn checked(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() < CHECK {
            // The message has no headroom, since it is not from this connection's base.
            message = Buf::copy_of(&message, CHECK + self.below)?;
        }
        let check = crc32fast::hash(&message).to_le_bytes();
        message.prepend(CHECK)?.copy_from_slice(&check);
        Ok(message)
    }

    /// Returns the message without its checksum, if the checksum is right.
    #[inline]
    fn verified(&self, mut received: Buf) -> Option<Buf> {
        match received.split_first_chunk() {
            Some((check, message)) if crc32fast::hash(message).to_le_bytes() == *check => {
                received.advance(CHECK).ok()?;
                Some(received)
            }
            _ => {
                self.damaged.add(1);
                None
            }
        }
    }
}

impl<Inner: Connection<Data = Buf>> Connection for ChecksumConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain, close);

    #[inline]
    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.checked(message)?).await
    }

    #[inline]
    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.verified(self.inner.recv().await?) {
                return Ok(message);
            }
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        send_encoded(&self.inner, messages, |message| self.checked(message)).await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let mut verified = Decoded { into, decode: |message| self.verified(message), count: 0 };
        // A burst of nothing but damaged messages would return zero.
        while verified.count == 0 && limit > 0 {
            self.inner.recv_batch(&mut verified, limit).await?;
        }
        Ok(verified.count)
    }
}
