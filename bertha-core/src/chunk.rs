//! Data of connections that carry a stream of bytes.

use crate::{Buf, Error};
use std::ops::Deref;

/// Some bytes of a stream, as a connection of bytes sends and receives them.
///
/// The bounds of chunks mean nothing: the bytes of one sent chunk may arrive in several chunks, and the bytes
/// of several in one. So a Chunnel for messages can't stand directly on such a connection, which carries
/// another type; a framing Chunnel makes messages of its bytes.
///
/// The empty chunk is the end of the stream, as zero is for a `read`. Sending it ends this half: later sends
/// fail with [`Closed`](crate::ErrorKind::Closed), and receiving goes on. Once the peer has ended its half,
/// every `recv` returns the empty chunk.
///
/// ```
/// # use bertha_core::Chunk;
/// let chunk = Chunk::copy_of(b"GET / HTTP/1.1\r\n")?;
/// assert!(chunk.starts_with(b"GET") && !chunk.is_end());
/// # Ok::<(), bertha_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Chunk(Buf);

impl Chunk {
    /// Returns the chunk that ends the stream.
    pub fn end() -> Self {
        Self(Buf::empty())
    }

    /// Makes a copy of `bytes`. A datapath may copy it once more, but sends a chunk from
    /// [`Base::buffer`](crate::Base::buffer) as it is.
    ///
    /// # Errors
    /// The errors of [`Buf::copy_of`].
    pub fn copy_of(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self(Buf::copy_of(bytes, 0)?))
    }

    /// Returns true if this chunk is the end of the stream.
    #[inline]
    pub fn is_end(&self) -> bool {
        self.0.is_empty()
    }
}

impl Deref for Chunk {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Buf> for Chunk {
    #[inline]
    fn from(bytes: Buf) -> Self {
        Self(bytes)
    }
}

impl From<Chunk> for Buf {
    #[inline]
    fn from(chunk: Chunk) -> Self {
        chunk.0
    }
}

/// Data that is bytes: a message ([`Buf`]), or a part of a stream ([`Chunk`]). It is a bound for Chunnels
/// that can stand on both kinds, since they mark the bounds of messages themselves, and for datapaths that
/// offer both kinds.
#[diagnostic::on_unimplemented(
    message = "a connection that carries bytes is needed, messages (`Buf`) or a stream (`Chunk`), and this one carries `{Self}`",
    label = "not bytes",
    note = "stacks are written top first: put a Chunnel that turns values into bytes, such as `Serialize`, above this one"
)]
pub trait Octets: From<Buf> + Into<Buf> + Send + Sync + 'static {
    /// True if the bounds of messages arrive with the data.
    const HAS_BOUNDS: bool;
}

impl Octets for Buf {
    const HAS_BOUNDS: bool = true;
}

impl Octets for Chunk {
    const HAS_BOUNDS: bool = false;
}
