//! The format of messages in a stream. Sans-IO.

use bertha_core::{Base, Buf, Error};

/// A format of messages in a stream of bytes.
pub trait Framing: Clone + Send + Sync + 'static {
    /// A message, the same in both directions.
    type Message: Send + 'static;
    /// Finds messages in the bytes that arrive.
    type Decoder: Deframe<Message = Self::Message>;

    /// The bytes that [`encode`](Self::encode) writes in front of a message, for which headroom is reserved.
    const HEADER: usize = 0;

    /// The largest message in bytes, if the format knows such a thing.
    fn largest(&self) -> Option<usize> {
        None
    }

    /// A decoder at the beginning of a stream.
    fn decoder(&self) -> Self::Decoder;

    /// The bytes of `message` on the stream, none if it takes none. `base` gives buffers that the datapath sends without a copy.
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

    /// The next message that is whole with `bytes`, which it takes from the front. `None` once it has taken all of them and needs more.
    /// Called again after each message, with what is left, even if that is nothing.
    ///
    /// # Errors
    /// [`Malformed`](bertha_core::ErrorKind::Malformed) for one message that can't be decoded, behind which the stream goes on. Any
    /// other kind ends the stream.
    fn decode(&mut self, bytes: &mut Buf) -> Result<Option<Self::Message>, Error>;

    /// The stream has ended: the last message, if its end is that of the stream. Called until it returns `None`.
    ///
    /// # Errors
    /// [`Reset`](bertha_core::ErrorKind::Reset) if it ended within a message.
    fn end(&mut self) -> Result<Option<Self::Message>, Error>;
}
