//! Data of connections that carry a stream of bytes.

use crate::{Buf, Error};
use std::ops::Deref;

/// Some bytes of a stream, as a connection of bytes sends and receives them.
///
/// The bounds of chunks mean nothing: what was sent as one chunk may arrive as several, and the reverse. So a Chunnel for
/// messages can't stand directly on such a connection, which carries another type; a framing Chunnel makes messages of
/// its bytes.
///
/// The empty chunk is the end of the stream, as zero is for a `read`. Sending it ends this half: later sends fail with
/// [`Closed`](crate::ErrorKind::Closed), and receiving goes on. Once the peer has ended its half, each `recv` returns it
/// again.
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
    /// The chunk that ends the stream.
    pub fn end() -> Self {
        Self(Buf::empty())
    }

    /// A copy of `bytes`. A datapath may copy it once more; one made from [`Base::buffer`](crate::Base::buffer) it sends as it is.
    ///
    /// # Errors
    /// As for [`Buf::copy_of`].
    pub fn copy_of(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self(Buf::copy_of(bytes, 0)?))
    }

    /// Whether this is the end of the stream.
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

/// Data that is bytes: a message ([`Buf`]), or some of a stream ([`Chunk`]). For Chunnels that can stand on both, since they keep
/// bounds of their own, and datapaths that offer both.
#[diagnostic::on_unimplemented(
    message = "a connection that carries bytes is needed, messages (`Buf`) or a stream (`Chunk`), and this one carries `{Self}`",
    label = "not bytes",
    note = "stacks are written top first: put a Chunnel that turns values into bytes, such as `Serialize`, above this one"
)]
pub trait Octets: From<Buf> + Into<Buf> + Send + Sync + 'static {
    /// Whether the bounds of what was sent arrive with it.
    const HAS_BOUNDS: bool;
}

impl Octets for Buf {
    const HAS_BOUNDS: bool = true;
}

impl Octets for Chunk {
    const HAS_BOUNDS: bool = false;
}
