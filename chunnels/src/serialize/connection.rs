//! The connection that encodes and decodes.

use super::Codec;
use super::burst::{Decoded, Encoded};
use super::size::BufferSize;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What [`Serialize`](super::Serialize) makes of a connection that carries bytes.
///
/// # Errors
/// `send` fails with [`TooLarge`](ErrorKind::TooLarge) if the encoding exceeds what a message below may have, and
/// with [`Malformed`](ErrorKind::Malformed) if the codec has no encoding for the message. Both concern this message
/// alone. `send_batch` stops at the first such message: those before it were sent, those behind it were not taken
/// from the iterator.
pub struct SerializeConnection<Inner, T, C> {
    inner: Inner,
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
        let size = BufferSize::new(most(&inner, codec.limit()));
        Self { inner, codec, size, malformed: AtomicU64::new(0), message: PhantomData }
    }

    /// How many messages of the peer were dropped since they did not decode.
    pub fn malformed(&self) -> u64 {
        self.malformed.load(Relaxed)
    }

    // In line by force, as are the few functions below it on the way of a burst: each alone seems too long to the
    // compiler, which then keeps buffers in memory in between, a tenth of all that a short message costs.
    #[inline(always)]
    pub(super) fn encode(&self, base: &Inner::Base, message: &T) -> Result<Buf, Error> {
        let size = self.size.guess();
        let mut buf = base.buffer(size)?;
        match self.codec.encode(message, &mut buf) {
            Ok(Some(written)) => {
                buf.truncate(written);
                self.size.fitted(written, size);
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
        let most = most(&self.inner, self.codec.limit());
        while let Some(larger) = BufferSize::beyond(size, most) {
            size = larger;
            let mut buf = self.inner.base().buffer(size)?;
            if let Some(written) = self.codec.encode(message, &mut buf).map_err(unencodable)? {
                buf.truncate(written);
                self.size.found(written, most);
                return Ok(buf);
            }
        }
        let what = format!("a message that takes more than {most} bytes, the most that fits below");
        Err(Error::new(ErrorKind::TooLarge, what).at("Serialize"))
    }

    /// The message that `bytes` are, if they are one.
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

/// The longest encoding that both the layers below and the decoder at the other end take.
fn most(inner: &impl Connection, limit: usize) -> usize {
    inner.mtu().saturating_sub(inner.base().reserved()).min(limit)
}

#[cold]
fn unencodable(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Malformed, "the codec can't encode this message").at("Serialize").because(source)
}

impl<Inner, T, C> Connection for SerializeConnection<Inner, T, C>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    type Data = T;
    type Base = Inner::Base;

    #[inline]
    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    #[inline]
    fn send(&self, message: T) -> impl Future<Output = Result<(), Error>> + Send {
        // Encoded right away, so that the future holds a buffer and not the message, which would be moved into it.
        let encoded = self.encode(self.base(), &message);
        async move { self.inner.send(encoded?).await }
    }

    #[inline]
    async fn recv(&self) -> Result<T, Error> {
        loop {
            let bytes = self.inner.recv().await?;
            if let Some(message) = self.decode(&bytes) {
                return Ok(message);
            }
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = T> + Send) -> Result<(), Error> {
        let mut failed = None;
        self.inner.send_batch(Encoded::new(self, messages, &mut failed)).await?;
        failed.map_or(Ok(()), Err)
    }

    async fn recv_batch(&self, into: &mut (impl Extend<T> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        let mut decoded = Decoded::new(self, into);
        loop {
            let received = self.inner.recv_batch(&mut decoded, limit).await?;
            let well_formed = received.saturating_sub(decoded.settle());
            // A burst of nothing but malformed messages is no burst.
            if well_formed > 0 {
                return Ok(well_formed);
            }
        }
    }

    #[inline]
    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

impl<Inner: fmt::Debug, T, C> fmt::Debug for SerializeConnection<Inner, T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SerializeConnection")
            .field("inner", &self.inner)
            .field("malformed", &self.malformed)
            .finish_non_exhaustive()
    }
}
