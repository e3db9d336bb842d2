//! The connection that adds tags and removes them.

use crate::Tag;
use bertha_core::{Base, Buf, Connection, DropCounter, Error, forward};

/// The connection of a [`Tag`], over a connection that carries bytes.
///
/// Stray messages are dropped and counted. Loss and backpressure are the loss and backpressure of the connection
/// below. `send` copies a message that has no headroom for the tag; a message from [`Base::buffer`] has
/// headroom.
///
/// # Errors
/// The errors of the connection below.
#[derive(Debug)]
pub struct TagConnection<Inner> {
    inner: Inner,
    tag: [u8; Tag::LENGTH],
    stray: DropCounter,
}

impl<Inner: Connection<Data = Buf>> TagConnection<Inner> {
    pub(crate) fn new(inner: Inner, tag: [u8; Tag::LENGTH], stray: DropCounter) -> Self {
        Self { inner, tag, stray }
    }

    /// Returns the number of messages that were dropped, since they had another tag or none.
    pub fn stray(&self) -> u64 {
        self.stray.get()
    }

    /// Puts the tag in front of a message.
    fn tagged(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() < Tag::LENGTH {
            let mut copy = self.inner.base().buffer(message.len())?;
            copy.copy_from_slice(&message);
            message = copy;
        }
        message.prepend(Tag::LENGTH)?.copy_from_slice(&self.tag);
        Ok(message)
    }

    /// Returns the message without its tag, if it has the tag of this end.
    fn untagged(&self, mut received: Buf) -> Option<Buf> {
        if !received.starts_with(&self.tag) {
            self.stray.add(1);
            return None;
        }
        received.advance(Tag::LENGTH).ok()?;
        Some(received)
    }
}

impl<Inner: Connection<Data = Buf>> Connection for TagConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain, close);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.tagged(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.untagged(self.inner.recv().await?) {
                return Ok(message);
            }
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        let mut failed = Ok(());
        // The burst ends before the first message without a buffer for it, whose error is returned.
        let tagged =
            messages.map_while(|message| self.tagged(message).map_err(|error| failed = Err(error)).ok());
        self.inner.send_batch(tagged.fuse()).await?;
        failed
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let mut burst = Burst { connection: self, into, count: 0 };
        // A burst of stray messages alone would return zero.
        while burst.count == 0 && limit > 0 {
            self.inner.recv_batch(&mut burst, limit).await?;
        }
        Ok(burst.count)
    }
}

/// A burst whose tags are removed while the connection below fills it.
struct Burst<'a, Inner, Into> {
    connection: &'a TagConnection<Inner>,
    into: &'a mut Into,
    /// Number of messages that were not stray.
    count: usize,
}

impl<Inner: Connection<Data = Buf>, Into: Extend<Buf>> Extend<Buf> for Burst<'_, Inner, Into> {
    fn extend<Bufs: IntoIterator<Item = Buf>>(&mut self, received: Bufs) {
        let untagged = received.into_iter().filter_map(|message| self.connection.untagged(message));
        self.into.extend(untagged.inspect(|_| self.count += 1));
    }
}
