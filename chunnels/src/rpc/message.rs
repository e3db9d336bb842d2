//! The messages that a connection of [`Rpc`](super::Rpc) carries.

use super::{Failure, FailureKind, Metadata};
use bertha_core::Buf;
use std::fmt;

/// The name of a call on its connection: a slot of the client's table, and how often that was used before. So an answer that comes
/// late is not taken for that of the next call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    /// At most 24 bits.
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// The largest number of a slot.
pub(super) const MAX_SLOT: u32 = (1 << 24) - 1;

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// A message between a client and a server of calls: a call, its response, a part of a stream of responses or of requests, its end, the
/// number of parts that the other end takes, a cancellation, a failure, or the news that the server shuts down.
///
/// Made by [`Client`](super::Client) and [`serve`](super::serve()).
#[derive(Debug)]
pub struct Message {
    pub(super) call: CallId,
    pub(super) content: Content,
    /// True if the body begins with [metadata](super::Metadata): of a call, a response, an end or a failure. It
    /// stands behind the trace of a traced call.
    pub(super) has_metadata: bool,
    /// None where the content says all.
    pub(super) body: Option<Buf>,
}

impl Message {
    /// Takes the metadata off the front of the body; none if there is none.
    ///
    /// # Errors
    /// [`FailureKind::Malformed`] and [`FailureKind::TooLarge`], if the metadata breaks a rule.
    #[inline]
    pub(super) fn take_metadata(&mut self) -> Result<Metadata, Failure> {
        match &mut self.body {
            Some(body) if self.has_metadata => {
                self.has_metadata = false;
                Metadata::take(body).map_err(|error| Failure::of_metadata(&error))
            }
            _ => Ok(Metadata::new()),
        }
    }

    /// Returns the encoded request or response, or the words of a failure, behind their metadata. Empty for other messages.
    pub fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    pub(super) fn signal(call: CallId, content: Content) -> Self {
        Self { call, content, has_metadata: false, body: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// The client asks. The time that it still waits is in milliseconds; zero is for ever. The body of
    /// a traced call begins with its trace.
    Call { method: u32, milliseconds: u32, is_traced: bool },
    /// The server answers.
    Response,
    /// One of several answers, or one of several requests behind the first, counted from zero.
    Part { index: u32 },
    /// The sender has sent this many parts, and no more come.
    End { parts: u32 },
    /// The sender takes this many parts, from the first.
    Credit { parts: u32 },
    /// The client no longer waits; or the server takes no further requests of the stream.
    Cancel,
    /// The server has no answer, and says why in the body.
    Failure { kind: FailureKind, may_have_run: bool },
    /// The server begins no further call of this connection. The message is of no call.
    Leaving,
    /// The server has not begun the call, since this many calls of the client are under way: its limit.
    Full { calls: u32 },
}
