//! The format of messages.

use super::KeyPlace;
use std::error::Error;

/// A format for messages of type `T`.
///
/// [`Bincode`](super::Bincode), [`Postcard`](super::Postcard), [`Cbor`](super::Cbor), [`MessagePack`](super::MessagePack) and
/// [`Json`](super::Json) implement it for every type with serde's `Serialize` and `Deserialize`. A format of your own implements it for the types that it knows.
#[diagnostic::on_unimplemented(
    message = "the codec `{Self}` can't encode `{T}`",
    label = "no codec for messages of this type",
    note = "derive serde's `Serialize` and `Deserialize` for `{T}`, which must be `Send` and own its data",
    note = "`Postcard`, `Bincode`, `Cbor`, `MessagePack` and `Json` need the feature of their name of `bertha-chunnels`"
)]
pub trait Codec<T>: Clone + Send + Sync + 'static {
    /// The reason why a message has no encoding.
    type EncodeError: Error + Send + Sync + 'static;
    /// The reason why bytes are not a message.
    type DecodeError: Error + Send + Sync + 'static;

    /// The place of a message's key in its encoding: [`At`](super::At) an offset, or [`Anywhere`](super::Anywhere). Compared
    /// between the two ends.
    type Key: KeyPlace;

    /// The name of the format. Compared between the two ends.
    const NAME: &'static str;

    /// The version of the format. Compared between the two ends.
    const VERSION: u16 = 1;

    /// True for a format whose messages tell the names of their fields, so that ends without a common type understand each other. The
    /// name of the Rust type is then no part of what the two ends compare; a name given to
    /// [`Serialize::schema`](super::Serialize::schema) is.
    const DESCRIBES_ITSELF: bool = false;

    /// Returns the format's parameters on which both ends must agree, as text. Compared between the two ends.
    fn options(&self) -> String {
        String::new()
    }

    /// Returns the longest encoding that the other end decodes, in bytes. Longer messages are not sent.
    fn limit(&self) -> usize {
        usize::MAX
    }

    /// Writes `message` at the start of `into`, and returns how many bytes it takes; `None` if `into` is too small.
    ///
    /// # Errors
    /// If there is no encoding of this message, however large the buffer.
    fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, Self::EncodeError>;

    /// Reads the message at the start of `bytes`, and returns it with the number of bytes that it takes. The caller
    /// decides about the rest.
    ///
    /// The peer chooses `bytes`: this must never panic, nor allocate without bound.
    ///
    /// # Errors
    /// If there is no message.
    fn decode(&self, bytes: &[u8]) -> Result<(T, usize), Self::DecodeError>;
}
