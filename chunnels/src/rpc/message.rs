//! The messages that a connection of [`Rpc`](super::Rpc) carries.

use super::FailureKind;
use super::wire::{self, LONGEST};
use bertha_core::{Base, Buf, Error};
use std::fmt;

/// The name of a call on its connection: a slot of the client's table, and how often that was used before. So an answer that comes
/// late is not taken for that of the next call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CallId {
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

/// A message between a client and a server of calls: a call, its response, a part of a stream of responses, its end, the number of parts
/// that the client takes, a cancellation, or a failure.
///
/// Made by [`Client`](super::Client) and [`serve`](super::serve()).
#[derive(Debug)]
pub struct Message {
    pub(super) call: CallId,
    pub(super) content: Content,
    /// None where the content says all.
    pub(super) body: Option<Buf>,
}

impl Message {
    /// The message that these bytes are on the wire, for a Chunnel that carries messages in a way of its own. None if they are none.
    #[inline]
    pub fn decode(bytes: Buf) -> Option<Self> {
        wire::read(bytes)
    }

    /// The encoded request or response, or the words of a failure. Empty for other messages.
    pub fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    /// The bytes of this message on the wire: in a buffer of `base`, with the headroom that the layers below need.
    ///
    /// # Errors
    /// Those of [`Base::buffer`](bertha_core::Base::buffer).
    #[inline]
    pub fn encode(self, base: &impl Base) -> Result<Buf, Error> {
        let mut body = match self.body {
            Some(body) if body.headroom() >= LONGEST => body,
            // Not from this connection's base.
            Some(body) => Buf::copy_of(&body, LONGEST + base.reserved())?,
            None => base.buffer(0)?,
        };
        wire::write(self.call, self.content, &mut body)?;
        Ok(body)
    }

    pub(super) fn signal(call: CallId, content: Content) -> Self {
        Self { call, content, body: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// The client asks. The time that it still waits is in milliseconds; zero is for ever.
    Call { method: u32, milliseconds: u32 },
    /// The server answers.
    Response,
    /// One of several answers, counted from zero.
    Part { index: u32 },
    /// The server has sent this many parts, and no more come.
    End { parts: u32 },
    /// The client takes this many parts, from the first.
    Credit { parts: u32 },
    /// The client no longer waits.
    Cancel,
    /// The server has no answer, and says why in the body.
    Failure(FailureKind),
}
