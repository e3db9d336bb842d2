//! A connection of typed messages: each is encoded on its way down and decoded on its way up, in a burst as alone.

use super::Codec;
use super::size::BufferSize;
use bertha_core::buf::RecycledBufs;
use bertha_core::{Base, Buf, Connection, DropCounter, Error, ErrorKind, debug_fields};
use std::fmt::{self, Debug};
use std::marker::PhantomData;

/// The connection of [`Serialize`](super::Serialize) over one that carries bytes.
///
/// # Errors
/// `send` fails with [`TooLarge`](ErrorKind::TooLarge) if the encoding exceeds the limit of the connection below or of the codec,
/// and with [`Malformed`](ErrorKind::Malformed) if the codec has no encoding for the message. Both concern this message
/// alone. `send_batch` stops at the first such message: those before it were sent, those behind it were not taken
/// from the iterator. Loss, backpressure and cancellation are those of the connection below.
pub struct SerializeConnection<Inner, T, C> {
    inner: Inner,
    codec: C,
    size: BufferSize,
    malformed: DropCounter,
    message: PhantomData<fn(T) -> T>,
}

impl<Inner, T, C> SerializeConnection<Inner, T, C>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    pub(super) fn new(inner: Inner, codec: C, malformed: DropCounter) -> Self {
        let size = BufferSize::new(max_len(&inner, codec.limit()));
        Self { inner, codec, size, malformed, message: PhantomData }
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Returns the number of messages that were dropped because they did not decode.
    pub fn malformed(&self) -> u64 {
        self.malformed.get()
    }

    // In line by force, as are the other functions on the way of a burst: the compiler takes each for too long, and a call
    // would pass the buffer through memory, a tenth of the cost of a short message.
    #[inline(always)]
    fn encode(&self, base: &Inner::Base, message: &T) -> Result<Buf, Error> {
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

    /// Returns the message that `bytes` encode; a malformed message is counted.
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
        self.malformed.add(1);
        tracing::debug!(codec = C::NAME, length, %reason, "dropped a malformed message");
    }
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
        // Encoded at once, so that the future holds a buffer and the message is not moved into it.
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
            let well_formed = received.saturating_sub(decoded.finish_burst());
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

/// Encodes messages as the connection below asks for them. Ends at the first that has no encoding, and stores the error in
/// `failed`.
struct Encoded<'a, Inner: Connection, T, C, Messages> {
    connection: &'a SerializeConnection<Inner, T, C>,
    base: &'a Inner::Base,
    messages: Messages,
    failed: &'a mut Option<Error>,
}

impl<'a, Inner, T, C, Messages> Encoded<'a, Inner, T, C, Messages>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    fn new(
        connection: &'a SerializeConnection<Inner, T, C>,
        messages: Messages,
        failed: &'a mut Option<Error>,
    ) -> Self {
        Self { connection, base: connection.base(), messages, failed }
    }
}

impl<Inner, T, C, Messages> Iterator for Encoded<'_, Inner, T, C, Messages>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
    Messages: Iterator<Item = T>,
{
    type Item = Buf;

    // In line by force: a link asks for the first message of a burst at a second place, which would turn this into a call.
    #[inline(always)]
    fn next(&mut self) -> Option<Buf> {
        // Iterators may be asked again after their end.
        if self.failed.is_some() {
            return None;
        }
        // Borrowed from the option: moving it out would copy it.
        let message = self.messages.next();
        match self.connection.encode(self.base, message.as_ref()?) {
            Ok(encoded) => Some(encoded),
            Err(error) => {
                *self.failed = Some(error);
                None
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.messages.size_hint().1)
    }
}

/// Decodes the messages that the connection below pushes into it, and pushes them on.
struct Decoded<'a, Inner, T, C, Into> {
    connection: &'a SerializeConnection<Inner, T, C>,
    into: &'a mut Into,
    malformed: usize,
    spent: RecycledBufs,
}

impl<'a, Inner, T, C, Into> Decoded<'a, Inner, T, C, Into> {
    fn new(connection: &'a SerializeConnection<Inner, T, C>, into: &'a mut Into) -> Self {
        Self { connection, into, malformed: 0, spent: RecycledBufs::new() }
    }

    /// Releases the buffers of the decoded messages. Returns how many messages since the last call were malformed.
    fn finish_burst(&mut self) -> usize {
        self.spent.release();
        std::mem::take(&mut self.malformed)
    }
}

impl<Inner, T, C, Into> Extend<Buf> for Decoded<'_, Inner, T, C, Into>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
    Into: Extend<T>,
{
    #[inline]
    fn extend<Bufs: IntoIterator<Item = Buf>>(&mut self, bufs: Bufs) {
        // One by one: handing an iterator on would have its state in memory between any two messages.
        for bytes in bufs {
            let connection = self.connection;
            let encoded = Some(&*bytes);
            self.into.extend(Decoding { connection, encoded, malformed: &mut self.malformed });
            self.spent.add(bytes);
        }
    }
}

/// One message, decoded when it is asked for: straight to its destination, without moves from one iterator's state to the next.
struct Decoding<'a, Inner, T, C> {
    connection: &'a SerializeConnection<Inner, T, C>,
    encoded: Option<&'a [u8]>,
    malformed: &'a mut usize,
}

impl<Inner, T, C> Iterator for Decoding<'_, Inner, T, C>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        let decoded = self.connection.decode(self.encoded.take()?);
        if decoded.is_none() {
            *self.malformed += 1;
        }
        decoded
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(usize::from(self.encoded.is_some())))
    }
}

/// Returns the longest encoding that both the layers below and the codec's `limit` allow.
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

debug_fields!(SerializeConnection<Inner: Debug, T, C> { inner, malformed });
