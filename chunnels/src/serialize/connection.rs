//! The state of a connection, and how it encodes and decodes a message.

use super::Codec;
use super::size::BufferSize;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The connection of [`Serialize`](super::Serialize) over one that carries bytes.
///
/// # Errors
/// `send` fails with [`TooLarge`](ErrorKind::TooLarge) if the encoding exceeds the limit of the connection below or of the codec,
/// and with [`Malformed`](ErrorKind::Malformed) if the codec has no encoding for the message. Both concern this message
/// alone. `send_batch` stops at the first such message: those before it were sent, those behind it were not taken
/// from the iterator. Loss, backpressure and cancellation are those of the connection below.
pub struct SerializeConnection<Inner, T, C> {
    pub(super) inner: Inner,
    codec: C,
    size: BufferSize,
    malformed: AtomicU64,
    message: PhantomData<fn(T) -> T>,
}

impl<Inner, T, C> SerializeConnection<Inner, T, C>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    pub(super) fn new(inner: Inner, codec: C) -> Self {
        let size = BufferSize::new(max_len(&inner, codec.limit()));
        Self { inner, codec, size, malformed: AtomicU64::new(0), message: PhantomData }
    }

    /// The number of messages that were dropped because they did not decode.
    pub fn malformed(&self) -> u64 {
        self.malformed.load(Relaxed)
    }

    // In line by force, as are the other functions on the way of a burst: the compiler takes each for too long, and a call
    // would pass the buffer through memory, a tenth of the cost of a short message.
    #[inline(always)]
    pub(super) fn encode(&self, base: &Inner::Base, message: &T) -> Result<Buf, Error> {
        let size = self.size.guess();
        let mut buf = base.buffer(size)?;
        match self.codec.encode(message, &mut buf) {
            Ok(Some(written)) => {
                buf.truncate(written);
                self.size.on_fit(written, size);
                Ok(buf)
            }
            Ok(None) => {
                drop(buf);
                self.encode_beyond(message, size)
            }
            Err(error) => Err(unencodable(error)),
        }
    }

    /// Encodes a message that did not fit in `size` bytes.
    #[cold]
    #[inline(never)]
    fn encode_beyond(&self, message: &T, mut size: usize) -> Result<Buf, Error> {
        let max = max_len(&self.inner, self.codec.limit());
        while let Some(larger) = BufferSize::beyond(size, max) {
            size = larger;
            let mut buf = self.inner.base().buffer(size)?;
            if let Some(written) = self.codec.encode(message, &mut buf).map_err(unencodable)? {
                buf.truncate(written);
                self.size.on_retry(written, max);
                return Ok(buf);
            }
        }
        Err(too_large(C::NAME, max, self.codec.limit()))
    }

    /// The message that `bytes` encode; one that is malformed is counted.
    #[inline(always)]
    pub(super) fn decode(&self, bytes: &[u8]) -> Option<T> {
        match self.codec.decode(bytes) {
            Ok((message, used)) if used == bytes.len() => Some(message),
            Ok((_, used)) => {
                self.drop_malformed(bytes.len(), &format_args!("{} bytes are left over", bytes.len() - used));
                None
            }
            Err(error) => {
                self.drop_malformed(bytes.len(), &error);
                None
            }
        }
    }

    #[cold]
    fn drop_malformed(&self, length: usize, reason: &dyn fmt::Display) {
        self.malformed.fetch_add(1, Relaxed);
        tracing::debug!(codec = C::NAME, length, %reason, "dropped a malformed message");
    }
}

/// The longest encoding that both the layers below and the codec's `limit` allow.
fn max_len(inner: &impl Connection, limit: usize) -> usize {
    inner.mtu().saturating_sub(inner.base().reserved()).min(limit)
}

#[cold]
fn too_large(codec: &str, max: usize, limit: usize) -> Error {
    let what = if max == limit {
        format!(
            "a message takes more than {max} bytes, the limit of the codec {codec}; give it a larger one at both ends"
        )
    } else {
        format!(
            "a message takes more than {max} bytes, all that the connection below carries; put Fragment below Serialize"
        )
    };
    Error::new(ErrorKind::TooLarge, what).at("Serialize")
}

#[cold]
fn unencodable(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Malformed, "the codec can't encode this message").at("Serialize").because(source)
}

impl<Inner: fmt::Debug, T, C> fmt::Debug for SerializeConnection<Inner, T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SerializeConnection")
            .field("inner", &self.inner)
            .field("malformed", &self.malformed)
            .finish_non_exhaustive()
    }
}
