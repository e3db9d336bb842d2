//! Steering: a datapath picks the shard of each message before the process sees it.

use crate::Error;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

/// The number of bytes by which a datapath recognises the messages of a connection.
pub const STEERED_PREFIX: usize = 8;

/// The rule by which a datapath picks the shard of a message: the 64-bit FNV-1a hash of up to four bytes of
/// the message's key, modulo the number of shards.
///
/// The message has one byte with the length of its key, at most 127, and behind it the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Steering {
    key_at: usize,
    skip: usize,
    shards: NonZero<usize>,
}

impl Steering {
    /// Makes the rule for messages with the length of their key at offset `key_at`. The first `skip` bytes of
    /// a key are not hashed; a key of at most `skip` bytes is hashed as the empty key.
    pub const fn new(key_at: usize, skip: usize, shards: NonZero<usize>) -> Self {
        Self { key_at, skip, shards }
    }

    /// Returns the rule for the same messages behind `front` more bytes.
    #[must_use]
    pub const fn behind(self, front: usize) -> Self {
        Self { key_at: self.key_at.saturating_add(front), ..self }
    }

    /// Returns the offset of the byte with the length of the key.
    pub const fn key_at(&self) -> usize {
        self.key_at
    }

    /// Returns the number of bytes that are not hashed at the start of a key.
    pub const fn skip(&self) -> usize {
        self.skip
    }

    /// Returns the number of shards.
    pub const fn shards(&self) -> NonZero<usize> {
        self.shards
    }
}

/// The siblings of a base connection: connections to the same peer, each with the messages of one shard.
pub struct Siblings<C> {
    /// The siblings, in the order of the shards. The runtime on which a sibling is polled first receives for
    /// all siblings of its shard.
    pub connections: Vec<C>,
    /// The steering of the connection's messages to the siblings.
    pub route: Arc<dyn Route>,
}

/// The steering of one connection's messages, which ends when the value is dropped: messages then arrive at
/// the connection itself, as they do before it begins.
pub trait Route: Send + Sync {
    /// Begins to steer messages that begin with the connection's prefix. A second call has no effect.
    ///
    /// # Errors
    /// [`Exhausted`](crate::ErrorKind::Exhausted) if the datapath steers as many connections as it can; the
    /// errors of the system. The connection goes on without steering.
    fn begin(&self) -> Result<(), Error>;
}

impl<C: fmt::Debug> fmt::Debug for Siblings<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Siblings").field("connections", &self.connections).finish_non_exhaustive()
    }
}
