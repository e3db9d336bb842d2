//! The format of messages in a stream. Sans-IO.

use bertha_core::{Base, Buf, Error};

/// A format of messages in a stream of bytes.
pub trait Framing: Clone + Send + Sync + 'static {
    /// A message, in both directions.
    type Message: Send + 'static;
    /// Finds messages in the bytes that arrive.
    type Decoder: Deframe<Message = Self::Message>;

    /// The bytes that [`encode`](Self::encode) writes in front of a message, for which headroom is reserved.
    const HEADER: usize = 0;

    /// Returns the largest message in bytes, if the format has a maximum.
    fn largest(&self) -> Option<usize> {
        None
    }

    /// Makes a decoder at the beginning of a stream.
    fn decoder(&self) -> Self::Decoder;

    /// Returns the bytes of `message` on the stream, empty if it takes none. `base` gives buffers that the
    /// datapath sends without a copy.
    ///
    /// # Errors
    /// [`TooLarge`](bertha_core::ErrorKind::TooLarge) or [`Malformed`](bertha_core::ErrorKind::Malformed) if the format can't express this
    /// message.
    fn encode(&self, message: Self::Message, base: &impl Base) -> Result<Buf, Error>;
}

/// Finds the messages in a stream of bytes.
pub trait Deframe: Send + 'static {
    /// A message.
    type Message;

    /// Returns the next message that is complete with `bytes`, and removes its bytes from the front. `None`
    /// once it has taken all bytes and needs more. It is called again after each message, with the remaining
    /// bytes, even if there are none.
    ///
    /// # Errors
    /// [`Malformed`](bertha_core::ErrorKind::Malformed) for one message that can't be decoded, after which
    /// the stream goes on. Any other kind ends the stream.
    fn decode(&mut self, bytes: &mut Buf) -> Result<Option<Self::Message>, Error>;

    /// Handles the end of the stream: returns the last message, if it ends with the stream. It is called
    /// until it returns `None`.
    ///
    /// # Errors
    /// [`Reset`](bertha_core::ErrorKind::Reset) if the stream ended within a message.
    fn end(&mut self) -> Result<Option<Self::Message>, Error>;
}
