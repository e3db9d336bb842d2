//! A connection of bytes as a stream for reading and writing.

#[cfg(feature = "futures-io")]
mod futures_traits;
mod reading;
mod tokio_traits;
mod waiting;
mod writing;

use bertha_core::{Chunk, Connection};
use reading::Reading;
use std::sync::Arc;
use writing::Writing;

/// A connection of bytes as `AsyncRead + AsyncWrite`.
///
/// * A read gives the rest of the chunk that arrived last, or waits for the next chunk. It returns zero
///   bytes once the peer has ended its half.
/// * A write takes as many bytes as one chunk of the connection holds, at most 64 KiB, and leaves at most one
///   chunk under way. An error of that chunk is returned by the next write, flush or shutdown. A flush waits
///   until the connection has taken the chunk; flush after the last write. A read also
///   polls the chunk, or the end, that is under way, so the stream goes on after a write, flush or shutdown that was given up;
///   a read that waits in another task does so, too.
/// * A shutdown ends this half of the stream behind all written bytes, and waits until no layer below holds
///   any of these bytes back. Reading goes on.
/// * The futures of reads and writes may be dropped: no byte is lost or repeated. Dropping the stream itself
///   drops the connection, with all bytes still in the stream; shut the stream down first.
///
/// ```
/// use bertha_io::ByteStream;
/// use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
/// # async fn example(connection: impl bertha_core::Connection<Data = bertha_core::Chunk>) -> std::io::Result<()> {
/// // For instance `Tcp::new().bytes().connect(address).await?`.
/// let mut stream = ByteStream::new(connection);
/// stream.write_all(b"HEAD / HTTP/1.0\r\n\r\n").await?;
/// stream.flush().await?;
/// let mut status = String::new();
/// stream.read_line(&mut status).await?;
/// # Ok(())
/// # }
/// ```
pub struct ByteStream<C> {
    /// Shared with the boxed futures of both halves.
    connection: Arc<C>,
    reading: Reading,
    writing: Writing,
}

impl<C: Connection<Data = Chunk>> ByteStream<C> {
    /// Makes a stream over this connection.
    pub fn new(connection: C) -> Self {
        let connection = Arc::new(connection);
        Self { reading: Reading::new(&connection), writing: Writing::new(&connection), connection }
    }

    /// Returns the connection, for its addresses. Chunks that are received from the connection directly are
    /// missing in the stream, and chunks that are sent over it directly interleave with the stream's bytes.
    pub fn connection(&self) -> &Arc<C> {
        &self.connection
    }
}

bertha_core::debug_fields!(ByteStream<C> {});
