//! The connection that adds checksums and checks them.

use crate::Checksum;
use crate::burst::Verified;
use bertha_core::{Base, Buf, Connection, Error};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The connection of a [`Checksum`], over a connection that carries bytes.
///
/// Damaged messages are dropped and counted, so over a datapath that damages messages the connection loses
/// them instead. `send` copies a message that has no headroom for the checksum; a message from
/// [`Base::buffer`] has it.
///
/// # Errors
/// The errors of the connection below.
#[derive(Debug)]
pub struct ChecksumConnection<Inner> {
    inner: Inner,
    checksum: Checksum,
    damaged: AtomicU64,
}

impl<Inner: Connection<Data = Buf>> ChecksumConnection<Inner> {
    pub(crate) fn new(inner: Inner, checksum: Checksum) -> Self {
        Self { inner, checksum, damaged: AtomicU64::new(0) }
    }

    /// Returns the number of messages that were dropped because their checksum was wrong or missing.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Relaxed)
    }

    /// Returns the message with its checksum in front.
    #[inline]
    fn seal(&self, mut message: Buf) -> Result<Buf, Error> {
        let checksum = self.checksum.of(&message);
        if message.headroom() < Checksum::LENGTH {
            message = self.with_headroom(&message)?;
        }
        message.prepend(Checksum::LENGTH)?.copy_from_slice(&checksum);
        Ok(message)
    }

    #[cold]
    fn with_headroom(&self, message: &[u8]) -> Result<Buf, Error> {
        let mut copy = self.inner.base().buffer(message.len())?;
        copy.copy_from_slice(message);
        Ok(copy)
    }

    /// Returns the message without its checksum, or `None` if the checksum is wrong.
    #[inline]
    pub(crate) fn open(&self, mut received: Buf) -> Option<Buf> {
        if self.checksum.verified(&received).is_none() {
            self.damaged.fetch_add(1, Relaxed);
            return None;
        }
        received.advance(Checksum::LENGTH).ok()?;
        Some(received)
    }
}

impl<Inner: Connection<Data = Buf>> Connection for ChecksumConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    #[inline]
    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    #[inline]
    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.seal(message)?).await
    }

    #[inline]
    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.open(self.inner.recv().await?) {
                return Ok(message);
            }
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        let mut failed = None;
        // The iterator ends at the first message that can't be sent, also if it is asked again.
        let sealed = messages
            .map_while(|message| self.seal(message).map_err(|error| failed = Some(error)).ok())
            .fuse();
        self.inner.send_batch(sealed).await?;
        failed.map_or(Ok(()), Err)
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let mut verified = Verified::new(self, into);
        // A burst of damaged messages alone is no burst.
        while verified.count() == 0 && limit > 0 {
            self.inner.recv_batch(&mut verified, limit).await?;
        }
        Ok(verified.count())
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
