//! Messages in the formats of `tokio_util::codec`.

use super::framed::framed;
use super::{Deframe, FramedConnection, Framing};
use bertha_core::{
    Base, Buf, Carries, Chunk, Chunnel, ConnectContext, Error, ErrorKind, Identity, debug_fields,
};
use bytes::BytesMut;
use parking_lot::Mutex;
use std::fmt;
use std::marker::PhantomData;
use tokio_util::codec::{Decoder, Encoder};

/// Writes and reads messages of type `T` by a codec of
/// [`tokio_util::codec`](https://docs.rs/tokio-util/latest/tokio_util/codec).
///
/// Each connection has a clone of the codec for each direction. If several tasks send, the encoder may get
/// messages in another order than they are sent; if a `send` is dropped, it may get a message that is not
/// sent. So its messages must not depend on earlier messages. An error of the decoder ends the stream with
/// [`Reset`](ErrorKind::Reset), since the bounds of later messages are unknown then; an error of the encoder
/// is [`Malformed`](ErrorKind::Malformed) for that message. Memory is bounded only as far as the codec bounds
/// it: set a maximum length of messages.
///
/// Two ends that negotiate compare no codecs: this Chunnel is for [`wrap`](bertha_core::Wrap::wrap), where
/// the peer is not Bertha.
///
/// ```
/// use bertha_chunnels::CodecFramed;
/// use bytes::Bytes;
/// use tokio_util::codec::{LengthDelimitedCodec, LinesCodec};
/// let lines = CodecFramed::new(LinesCodec::new_with_max_length(1024)); // of `String`s
/// let little_endian = LengthDelimitedCodec::builder().little_endian().new_codec();
/// let frames = CodecFramed::new(little_endian).carrying::<Bytes>(); // it decodes `BytesMut`, and encodes `Bytes`
/// ```
#[derive(Identity)]
pub struct CodecFramed<C, T> {
    format: CodecFormat<C, T>,
}

impl<C: Decoder> CodecFramed<C, C::Item> {
    /// Makes a Chunnel for the messages that this codec decodes.
    pub fn new(codec: C) -> Self {
        Self { format: CodecFormat::new(codec) }
    }
}

impl<C, T> CodecFramed<C, T> {
    /// Returns a Chunnel with another type of messages, into which the decoded messages are converted.
    pub fn carrying<U>(self) -> CodecFramed<C, U> {
        CodecFramed { format: CodecFormat::new(self.format.codec.into_inner()) }
    }
}

impl<C: Clone, T> Clone for CodecFramed<C, T> {
    fn clone(&self) -> Self {
        Self { format: self.format.clone() }
    }
}

impl<C, T> fmt::Debug for CodecFramed<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CodecFramed({})", std::any::type_name::<C>())
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl<C, T, Inner> Chunnel<Inner> for CodecFramed<C, T>
where
    CodecFormat<C, T>: Framing,
    Inner: Carries<Chunk, Self>,
{
    type Connection = FramedConnection<Inner, CodecFormat<C, T>>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(framed(inner, self.format.clone()))
    }
}

/// The format of [`CodecFramed`].
pub struct CodecFormat<C, T> {
    /// The codec; in a connection, the encoder. Locked for the encoding of one message.
    codec: Mutex<C>,
    message: PhantomData<fn(T) -> T>,
}

impl<C, T> CodecFormat<C, T> {
    fn new(codec: C) -> Self {
        Self { codec: Mutex::new(codec), message: PhantomData }
    }
}

impl<C: Clone, T> Clone for CodecFormat<C, T> {
    fn clone(&self) -> Self {
        Self::new(self.codec.lock().clone())
    }
}

impl<C, T> Framing for CodecFormat<C, T>
where
    C: Decoder<Item: Into<T>, Error: Into<Failure>> + Encoder<T> + Clone + Send + 'static,
    <C as Encoder<T>>::Error: Into<Failure>,
    T: Send + 'static,
{
    type Message = T;
    type Decoder = CodecDecoder<C, T>;

    fn decoder(&self) -> Self::Decoder {
        CodecDecoder { codec: self.codec.lock().clone(), arrived: BytesMut::new(), message: PhantomData }
    }

    fn encode(&self, message: T, base: &impl Base) -> Result<Buf, Error> {
        let mut bytes = BytesMut::new();
        let encoded = self.codec.lock().encode(message, &mut bytes);
        encoded
            .map_err(|error| failed(ErrorKind::Malformed, "the codec does not encode this message", error))?;
        let mut buffer = base.buffer(bytes.len())?;
        buffer.copy_from_slice(&bytes);
        Ok(buffer)
    }
}

/// Finds messages with a codec.
pub struct CodecDecoder<C, T> {
    codec: C,
    /// Bytes that the codec has not taken.
    arrived: BytesMut,
    message: PhantomData<fn() -> T>,
}

impl<C, T> Deframe for CodecDecoder<C, T>
where
    C: Decoder<Item: Into<T>, Error: Into<Failure>> + Send + 'static,
    T: 'static,
{
    type Message = T;

    fn decode(&mut self, bytes: &mut Buf) -> Result<Option<T>, Error> {
        self.arrived.extend_from_slice(bytes);
        let all = bytes.len();
        bytes.advance(all)?;
        let decoded = self.codec.decode(&mut self.arrived);
        Ok(decoded.map_err(unreadable)?.map(Into::into))
    }

    fn end(&mut self) -> Result<Option<T>, Error> {
        let decoded = self.codec.decode_eof(&mut self.arrived);
        Ok(decoded.map_err(unreadable)?.map(Into::into))
    }
}

debug_fields!(CodecFormat < C, T > {});

impl<C, T> fmt::Debug for CodecDecoder<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodecDecoder").field("arrived", &self.arrived.len()).finish_non_exhaustive()
    }
}

#[cold]
fn unreadable(error: impl Into<Failure>) -> Error {
    failed(ErrorKind::Reset, "the codec does not decode what has arrived", error)
}

#[cold]
fn failed(kind: ErrorKind, what: &str, error: impl Into<Failure>) -> Error {
    let error = error.into();
    Error::new(kind, format!("{what}: {error}")).because(error)
}
