//! Lines of text.

use super::framed::framed;
use super::{Deframe, FramedConnection, Framing};
use bertha_core::{Base, Buf, Carries, Chunk, Chunnel, ConnectContext, Error, ErrorKind, Identity};
use std::mem::take;

/// Makes each message a line: its text in UTF-8 and a line feed. A carriage return before the line feed
/// counts as a part of the line's end.
///
/// A message that contains a line feed is [`Malformed`](ErrorKind::Malformed), and a message longer than the
/// [longest](Self::longest) line is [`TooLarge`](ErrorKind::TooLarge). A longer line that arrives, or a line
/// that is not UTF-8, is `Malformed` for one `recv`, and the lines behind it arrive. The last line may end
/// with the stream.
#[derive(Debug, Clone, Copy, Identity)]
pub struct LineFramed {
    pub(super) format: LineFormat,
}

impl LineFramed {
    /// Makes a Chunnel for lines of at most 64 KiB.
    pub fn new() -> Self {
        Self { format: LineFormat { longest: 64 << 10 } }
    }

    /// Sets the longest line to `bytes`, without the line's end.
    #[must_use]
    pub fn longest(self, bytes: usize) -> Self {
        Self { format: LineFormat { longest: bytes } }
    }
}

impl Default for LineFramed {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Carries<Chunk, Self>> Chunnel<Inner> for LineFramed {
    type Connection = FramedConnection<Inner, LineFormat>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(framed(inner, self.format))
    }
}

/// The format of [`LineFramed`].
#[derive(Debug, Clone, Copy)]
pub struct LineFormat {
    longest: usize,
}

impl Framing for LineFormat {
    type Message = String;
    type Decoder = LineDecoder;

    fn decoder(&self) -> LineDecoder {
        LineDecoder { longest: self.longest, begun: Vec::new(), is_skipping: false }
    }

    fn encode(&self, line: String, base: &impl Base) -> Result<Buf, Error> {
        if line.len() > self.longest {
            return Err(too_long(ErrorKind::TooLarge, self.longest));
        }
        if line.contains('\n') {
            return Err(Error::new(
                ErrorKind::Malformed,
                "a line contains a line feed; send each line by itself",
            ));
        }
        let mut bytes = base.buffer(line.len() + 1)?;
        let (text, end) = bytes.split_at_mut(line.len());
        text.copy_from_slice(line.as_bytes());
        end.fill(b'\n');
        Ok(bytes)
    }
}

/// Finds lines. It holds at most the beginning of one line.
#[derive(Debug)]
pub struct LineDecoder {
    longest: usize,
    /// The beginning of a line whose end has not arrived.
    begun: Vec<u8>,
    /// True if the line was too long, and is skipped to its end.
    is_skipping: bool,
}

impl LineDecoder {
    /// Returns the line that ends with `bytes`.
    fn line(&mut self, bytes: &[u8]) -> Result<String, Error> {
        let mut line = take(&mut self.begun);
        // The bound leaves room for the carriage return.
        if take(&mut self.is_skipping) || line.len() + bytes.len() > self.longest + 1 {
            return Err(too_long(ErrorKind::Malformed, self.longest));
        }
        line.extend_from_slice(bytes);
        line.pop_if(|last| *last == b'\r');
        if line.len() > self.longest {
            return Err(too_long(ErrorKind::Malformed, self.longest));
        }
        String::from_utf8(line)
            .map_err(|error| Error::new(ErrorKind::Malformed, "a line is not UTF-8").because(error))
    }
}

impl Deframe for LineDecoder {
    type Message = String;

    fn decode(&mut self, bytes: &mut Buf) -> Result<Option<String>, Error> {
        if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let line = self.line(&bytes[..end]);
            bytes.advance(end + 1)?;
            return line.map(Some);
        }
        if self.begun.len() + bytes.len() > self.longest + 1 {
            self.is_skipping = true;
            self.begun = Vec::new();
        }
        if !self.is_skipping {
            self.begun.extend_from_slice(bytes);
        }
        let all = bytes.len();
        bytes.advance(all)?;
        Ok(None)
    }

    fn end(&mut self) -> Result<Option<String>, Error> {
        if self.begun.is_empty() && !self.is_skipping {
            return Ok(None);
        }
        self.line(&[]).map(Some)
    }
}

#[cold]
fn too_long(kind: ErrorKind, longest: usize) -> Error {
    Error::new(kind, format!("a line of more than {longest} bytes"))
}
