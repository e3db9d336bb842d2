//! Messages behind their lengths.

use super::framed::framed;
use super::{Deframe, FramedConnection, Framing};
use bertha_core::framing::{Deframer, HEADER, TooLarge, header};
use bertha_core::{Base, Buf, Carries, Chunk, Chunnel, ConnectContext, Error, ErrorKind, Identity};

/// Puts each message behind its length in four bytes, big-endian, as [`framing`](bertha_core::framing)
/// describes: the format of datapaths of messages over TCP, with which it is compatible.
///
/// A message that is longer than the [largest](Self::largest) is [`TooLarge`](ErrorKind::TooLarge) for the
/// sender; if a peer announces a longer message, the stream ends with [`Reset`](ErrorKind::Reset).
#[derive(Debug, Clone, Copy, Identity)]
pub struct LengthFramed {
    pub(super) format: LengthFormat,
}

impl LengthFramed {
    /// Makes a Chunnel for messages of at most 16 MiB.
    pub fn new() -> Self {
        Self { format: LengthFormat { largest: 16 << 20 } }
    }

    /// Sets the largest message to `bytes`, at most 127 MiB.
    #[must_use]
    pub fn largest(self, bytes: usize) -> Self {
        Self { format: LengthFormat { largest: bytes.min(127 << 20) } }
    }
}

impl Default for LengthFramed {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Carries<Chunk, Self>> Chunnel<Inner> for LengthFramed {
    type Connection = FramedConnection<Inner, LengthFormat>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(framed(inner, self.format))
    }
}

/// The format of [`LengthFramed`].
#[derive(Debug, Clone, Copy)]
pub struct LengthFormat {
    largest: usize,
}

impl Framing for LengthFormat {
    type Message = Buf;
    type Decoder = LengthDecoder;

    const HEADER: usize = HEADER;

    fn largest(&self) -> Option<usize> {
        Some(self.largest)
    }

    fn decoder(&self) -> LengthDecoder {
        LengthDecoder { deframer: Deframer::new(self.largest), largest: self.largest }
    }

    fn encode(&self, mut message: Buf, base: &impl Base) -> Result<Buf, Error> {
        if message.len() > self.largest {
            let what = format!("message of {} bytes, at most {} fit", message.len(), self.largest);
            return Err(Error::new(ErrorKind::TooLarge, what));
        }
        if message.headroom() < HEADER {
            // The message has no headroom, since it is not from this connection's base.
            let mut copy = base.buffer(message.len())?;
            copy.copy_from_slice(&message);
            message = copy;
        }
        let length = header(&message);
        message.prepend(HEADER)?.copy_from_slice(&length);
        Ok(message)
    }
}

/// Finds messages behind their lengths. A message that lies within one chunk is not copied.
#[derive(Debug)]
pub struct LengthDecoder {
    deframer: Deframer,
    largest: usize,
}

impl Deframe for LengthDecoder {
    type Message = Buf;

    fn decode(&mut self, bytes: &mut Buf) -> Result<Option<Buf>, Error> {
        if let Some(message) = self.deframer.split_off(bytes) {
            return Ok(Some(message));
        }
        let mut rest = &bytes[..];
        let message = self.deframer.take(&mut rest).map_err(|length| unreadable(length, self.largest))?;
        let taken = bytes.len() - rest.len();
        bytes.advance(taken)?;
        Ok(message)
    }

    fn end(&mut self) -> Result<Option<Buf>, Error> {
        if !self.deframer.is_between() {
            return Err(Error::new(ErrorKind::Reset, "the peer ended the stream in the middle of a message"));
        }
        Ok(None)
    }
}

/// Returns the error after which no message can be found.
#[cold]
fn unreadable(length: TooLarge, largest: usize) -> Error {
    Error::new(ErrorKind::Reset, length.told(largest))
}
