//! The key of a message.

/// A message that belongs to the shard of its key.
#[diagnostic::on_unimplemented(
    message = "messages of type `{Self}` have no key to shard by",
    label = "needs a key",
    note = "implement `Keyed` for `{Self}`; sharding stands above serialisation, where messages have their type"
)]
pub trait Keyed {
    /// Returns the key: messages with equal keys go to the same shard.
    ///
    /// The key of a reply is never read.
    fn key(&self) -> &[u8];
}

/// A way to find the key of a message.
pub(super) trait FindKey<T>: Send + 'static {
    /// Returns the key; `None` if the message has no key, and so belongs to no shard.
    fn key(message: &T) -> Option<&[u8]>;
}

/// The key that the message itself returns.
#[derive(Debug)]
pub(super) enum Own {}

impl<T: Keyed> FindKey<T> for Own {
    #[inline]
    fn key(message: &T) -> Option<&[u8]> {
        Some(message.key())
    }
}
