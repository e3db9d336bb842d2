//! The memory of the messages that were handed out.

use bertha_core::{BoxFuture, Error};
use std::sync::Arc;

/// The name of a message among all messages of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    /// The number that a publisher's connection drew at random.
    pub publisher: u64,
    /// The number of the message among the messages of that connection.
    pub number: u64,
}

/// A memory of the messages that were handed to the application, which survives a restart, or which several receivers share.
///
/// [`FileMemory`](super::FileMemory) is such a memory. A table in a store that all receivers of a
/// subscription reach would be another: it also detects a message that the service delivers to one receiver
/// first and then to another.
pub trait Memory: Send + Sync + 'static {
    /// Notes that these messages are about to be handed to the application, and returns for each message
    /// whether it is noted for the first time. The future is ready once the memory will keep the messages
    /// even if the process crashes. It is never dropped while its connection lives.
    ///
    /// # Errors
    /// Fails if the messages can't be noted. `recv` returns the error; the messages wait for the next call,
    /// which asks about them again. If the memory has noted some of them although it failed, it then answers
    /// that they are not new, and these messages are lost.
    fn take(self: Arc<Self>, messages: Vec<MessageId>) -> BoxFuture<'static, Result<Vec<bool>, Error>>;
}
