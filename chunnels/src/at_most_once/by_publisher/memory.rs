//! The memory of what was taken.

use bertha_core::{BoxFuture, Error};
use std::sync::Arc;

/// The name of a message among all of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    /// The number that a publisher's connection drew at random.
    pub publisher: u64,
    /// The number of the message among those of that connection.
    pub number: u64,
}

/// A memory of the messages that were handed to the application, which survives a restart, or which several receivers share.
///
/// [`FileMemory`](super::FileMemory) is one. A table in a store that all receivers of a subscription reach would be another: it
/// also drops what the service delivers to one of them first and then to another.
pub trait Memory: Send + Sync + 'static {
    /// Notes that these messages are about to be handed to the application, and says of each whether it is the first time. Ready
    /// once that will be remembered whatever happens. The future is never dropped while its connection lives.
    ///
    /// # Errors
    /// If they can't be noted. `recv` returns the error; the messages wait for the next call, which asks about them again. A memory
    /// that may have noted some of them all the same then says that it is not the first time, and these are lost.
    fn take(self: Arc<Self>, messages: Vec<MessageId>) -> BoxFuture<'static, Result<Vec<bool>, Error>>;
}
