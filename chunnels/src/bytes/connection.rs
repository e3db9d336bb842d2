//! The connection that carries bytes.

use bertha_core::{Base, Buf, Chunk, Connection, Error, ErrorKind, forward};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The connection of [`Bytes`](super::Bytes) over a connection that carries messages.
///
/// A chunk is sent as one message, and received as it was sent. Backpressure is that of the connection below.
/// Dropping the future of `send` sends the chunk whole or not at all; dropping the future of `recv` loses
/// nothing. `close` ends the stream first.
///
/// # Errors
/// The errors of the connection below; [`Closed`](ErrorKind::Closed) for sends behind the end;
/// [`Reset`](ErrorKind::Reset) for receptions if the peer has closed the connection without ending its
/// stream, whose end may be missing.
#[derive(Debug)]
pub struct BytesConnection<Inner> {
    inner: Inner,
    /// True if this end has ended its stream.
    has_ended: AtomicBool,
    /// True if the end of the peer's stream was received.
    has_ended_there: AtomicBool,
    is_closed: AtomicBool,
}

impl<Inner: Connection<Data = Buf>> BytesConnection<Inner> {
    pub(super) fn new(inner: Inner) -> Self {
        let [has_ended, has_ended_there, is_closed] = [const { AtomicBool::new(false) }; 3];
        Self { inner, has_ended, has_ended_there, is_closed }
    }

    // Relaxed throughout: no other data depends on the flags.
    fn open(&self) -> Result<(), Error> {
        if self.is_closed.load(Relaxed) {
            return Err(closed("this end closed the connection"));
        }
        Ok(())
    }

    fn open_for_sending(&self) -> Result<(), Error> {
        self.open()?;
        if self.has_ended.load(Relaxed) {
            return Err(closed("this end has ended the stream"));
        }
        Ok(())
    }

    /// Sends the end of the stream, even if it was sent before, since that future may have been dropped.
    async fn end(&self) -> Result<(), Error> {
        self.has_ended.store(true, Relaxed);
        self.inner.send(self.inner.base().buffer(0)?).await
    }

    /// Returns the bytes that have arrived, and notes the end of the stream.
    fn arrived(&self, message: Buf) -> Chunk {
        if message.is_empty() {
            self.has_ended_there.store(true, Relaxed);
        }
        message.into()
    }

    /// Returns the error of a reception. A closed connection is no proof that the stream has ended.
    #[cold]
    fn not_received(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Closed || self.is_closed.load(Relaxed) {
            return error;
        }
        let what =
            "the peer closed the connection without ending its stream, so the end of it may be missing";
        Error::new(ErrorKind::Reset, what).at("Bytes").because(error)
    }
}

#[cold]
fn closed(what: &'static str) -> Error {
    Error::new(ErrorKind::Closed, what).at("Bytes")
}

impl<Inner: Connection<Data = Buf>> Connection for BytesConnection<Inner> {
    type Data = Chunk;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain);

    async fn send(&self, chunk: Chunk) -> Result<(), Error> {
        if chunk.is_end() {
            self.open()?;
            return self.end().await;
        }
        self.open_for_sending()?;
        self.inner.send(chunk.into()).await
    }

    async fn recv(&self) -> Result<Chunk, Error> {
        self.open()?;
        if self.has_ended_there.load(Relaxed) {
            return Ok(Chunk::end());
        }
        match self.inner.recv().await {
            Ok(message) => Ok(self.arrived(message)),
            // Another `recv` may have received the end.
            Err(_) if self.has_ended_there.load(Relaxed) && !self.is_closed.load(Relaxed) => Ok(Chunk::end()),
            Err(error) => Err(self.not_received(error)),
        }
    }

    async fn send_batch(&self, chunks: impl Iterator<Item = Chunk> + Send) -> Result<(), Error> {
        self.open_for_sending()?;
        let mut ends = false;
        let messages = chunks.map_while(|chunk| {
            ends |= chunk.is_end();
            (!ends).then(|| chunk.into())
        });
        self.inner.send_batch(messages.fuse()).await?;
        if ends { self.end().await } else { Ok(()) }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Chunk> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        self.open()?;
        if self.has_ended_there.load(Relaxed) {
            into.extend([Chunk::end()]);
            return Ok(1);
        }
        let mut arrived = Arrived { connection: self, into };
        match self.inner.recv_batch(&mut arrived, limit).await {
            Ok(count) => Ok(count),
            Err(_) if self.has_ended_there.load(Relaxed) && !self.is_closed.load(Relaxed) => {
                into.extend([Chunk::end()]);
                Ok(1)
            }
            Err(error) => Err(self.not_received(error)),
        }
    }

    async fn close(&self) -> Result<(), Error> {
        let was_closed = self.is_closed.swap(true, Relaxed);
        if !was_closed && !self.has_ended.load(Relaxed) {
            // The peer may be gone, and the connection below has to be closed nevertheless.
            let _ended_or_gone = self.end().await;
        }
        self.inner.close().await
    }
}

/// Converts the messages of a burst into chunks.
struct Arrived<'a, Inner, Into> {
    connection: &'a BytesConnection<Inner>,
    into: &'a mut Into,
}

impl<Inner: Connection<Data = Buf>, Into: Extend<Chunk>> Extend<Buf> for Arrived<'_, Inner, Into> {
    fn extend<I: IntoIterator<Item = Buf>>(&mut self, messages: I) {
        self.into.extend(messages.into_iter().map(|message| self.connection.arrived(message)));
    }
}
