//! The connection.

use super::base::{IoBase, LARGEST};
use super::outgoing::Outgoing;
use bertha_core::{Buf, Chunk, Connection, Error, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadHalf, split};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The name in errors.
const NAME: &str = "IoConnection";

/// Maximum number of bytes that are read in one call.
const CHUNK: usize = 64 << 10;

/// A connection of bytes over any reader and writer; [`from_stream`](crate::from_stream) makes it.
///
/// `send` is ready once the stream has taken the chunk, and flushes it. If its future is dropped in the
/// middle of the chunk, the rest is written by the next `send`, `drain` or `close`. Dropping the future of
/// `recv` loses nothing, since a stream is read only when it is polled. Dropping the connection drops the
/// stream.
pub struct IoConnection<T> {
    base: IoBase,
    /// Locked across the wait, so that each chunk goes to one `recv`.
    incoming: Mutex<Incoming<T>>,
    /// Locked until the stream has taken a chunk, so that chunks do not mix.
    outgoing: Mutex<Outgoing<T>>,
    has_ended: AtomicBool,
    closed: CancellationToken,
}

struct Incoming<T> {
    half: ReadHalf<T>,
    has_ended: bool,
}

impl<T: AsyncRead + AsyncWrite + Send + 'static> IoConnection<T> {
    pub(super) fn new(stream: T) -> Self {
        let (reader, writer) = split(stream);
        Self {
            base: IoBase::new(),
            incoming: Mutex::new(Incoming { half: reader, has_ended: false }),
            outgoing: Mutex::new(Outgoing::new(writer)),
            has_ended: AtomicBool::new(false),
            closed: CancellationToken::new(),
        }
    }

    fn open(&self) -> Result<(), Error> {
        if self.closed.is_cancelled() {
            return Err(closed());
        }
        // Relaxed: no other data depends on the flag.
        if self.has_ended.load(Relaxed) {
            return Err(Error::new(ErrorKind::Closed, "this end has ended the stream").at(NAME));
        }
        Ok(())
    }

    async fn read(&self) -> Result<Chunk, Error> {
        let mut incoming = self.incoming.lock().await;
        if incoming.has_ended {
            return Ok(Chunk::end());
        }
        let mut bytes = Buf::new(CHUNK, 0)?;
        let read = incoming.half.read(&mut bytes).await?;
        incoming.has_ended = read == 0;
        Ok(bytes.fitted(read).into())
    }

    async fn end(&self, outgoing: &mut Outgoing<T>) -> Result<(), Error> {
        self.has_ended.store(true, Relaxed);
        outgoing.end().await.map_err(|error| error.at(NAME))
    }
}

#[cold]
fn closed() -> Error {
    Error::new(ErrorKind::Closed, "this end closed the connection").at(NAME)
}

#[cold]
fn too_large(len: usize) -> Error {
    Error::new(ErrorKind::TooLarge, format!("chunk of {len} bytes, at most {LARGEST} fit")).at(NAME)
}

impl<T: AsyncRead + AsyncWrite + Send + 'static> Connection for IoConnection<T> {
    type Data = Chunk;
    type Base = IoBase;

    fn base(&self) -> &IoBase {
        &self.base
    }

    async fn send(&self, chunk: Chunk) -> Result<(), Error> {
        self.send_batch(std::iter::once(chunk)).await
    }

    async fn recv(&self) -> Result<Chunk, Error> {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(closed()),
            read = self.read() => read.map_err(|error| error.at(NAME)),
        }
    }

    async fn send_batch(&self, chunks: impl Iterator<Item = Chunk> + Send) -> Result<(), Error> {
        self.open()?;
        let mut outgoing = self.outgoing.lock().await;
        for chunk in chunks {
            self.open()?;
            if chunk.is_end() {
                return self.end(&mut outgoing).await;
            }
            if chunk.len() > LARGEST {
                return Err(too_large(chunk.len()));
            }
            outgoing.write(chunk.into()).await.map_err(|error| error.at(NAME))?;
        }
        outgoing.flush().await.map_err(|error| error.at(NAME))
    }

    async fn drain(&self) -> Result<(), Error> {
        self.outgoing.lock().await.flush().await.map_err(|error| error.at(NAME))
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.cancel();
        let mut outgoing = self.outgoing.lock().await;
        self.end(&mut outgoing).await
    }
}

bertha_core::debug_fields!(IoConnection<T> { base });
