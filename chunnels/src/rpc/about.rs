//! The facts that a message tells layers between [`Rpc`](super::Rpc) and the two ends.

use super::Trace;
use super::message::{CallId, Content};
use super::server::refusal;
use super::{Failure, FailureKind, Message, Metadata};
use std::time::Duration;

/// The kind of a [`Message`], for layers above [`Rpc`](super::Rpc) that decide about calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKind {
    /// The client calls a method with this [number](super::Method::id).
    Call {
        /// The number of the method.
        method: u32,
    },
    /// The server answers with one response.
    Response,
    /// A stream has ended: that of the server's responses, which ends the call, or that of the client's requests.
    End,
    /// The server has no answer; [`Overloaded`](FailureKind::Overloaded) also for a call that it has not begun for lack of room.
    Failure(FailureKind),
    /// The client gives the call up. From a server: it takes no further requests of a stream.
    Cancellation,
    /// A part of a stream, the room for further ones, or the news that the server shuts down.
    Other,
}

impl CallId {
    /// Returns the place of the call among those of its client. The client uses a place again once it waits no longer for the call
    /// there.
    pub fn slot(self) -> u32 {
        self.slot
    }

    /// Returns the number of calls that had the place before, modulo 2<sup>32</sup>.
    pub fn generation(self) -> u32 {
        self.generation
    }
}

impl Message {
    /// Returns the call that the message is about.
    #[inline]
    pub fn call(&self) -> CallId {
        self.call
    }

    /// Returns the kind of the message.
    #[inline]
    pub fn kind(&self) -> MessageKind {
        match self.content {
            Content::Call { method, .. } => MessageKind::Call { method },
            Content::Response => MessageKind::Response,
            Content::End { .. } => MessageKind::End,
            Content::Failure { kind, .. } => MessageKind::Failure(kind),
            Content::Full { .. } => MessageKind::Failure(FailureKind::Overloaded),
            Content::Cancel => MessageKind::Cancellation,
            Content::Part { .. } | Content::Credit { .. } | Content::Leaving => MessageKind::Other,
        }
    }

    /// Returns the encoded request of a call, as its handler gets it: without the trace and the metadata in front of it.
    ///
    /// # Errors
    /// The failure that the server answers with if the metadata breaks a rule.
    pub fn request(&self) -> Result<&[u8], Failure> {
        let body = match self.content {
            Content::Call { is_traced: true, .. } => self.body().get(Trace::SIZE..).unwrap_or(self.body()),
            _ => self.body(),
        };
        if !self.has_metadata {
            return Ok(body);
        }
        let length = Metadata::length_in(body).map_err(|error| Failure::of_metadata(&error))?;
        Ok(&body[length..])
    }

    /// Takes the time for which a call was held off the time that its client still waits. Returns false if the client waits no longer.
    #[must_use]
    pub fn held_for(&mut self, time: Duration) -> bool {
        let Content::Call { milliseconds, .. } = &mut self.content else { return true };
        // Zero is for ever.
        if *milliseconds == 0 {
            return true;
        }
        // Down, so that the server does not give up first.
        let held = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        match milliseconds.checked_sub(held) {
            None | Some(0) => false,
            Some(left) => {
                *milliseconds = left;
                true
            }
        }
    }

    /// Returns the message by which a server answers a call with a failure. It has the first 512 bytes of the text, and no trailers.
    #[cold]
    pub fn failure(call: CallId, failure: &Failure) -> Self {
        refusal(call, failure, &Metadata::new(), 0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha_core::Buf;
    use std::convert::Infallible;

    const CALL: CallId = CallId { slot: 7, generation: 9 };

    fn call(milliseconds: u32, is_traced: bool, has_metadata: bool, body: &[u8]) -> Message {
        let content = Content::Call { method: 3, milliseconds, is_traced };
        Message { call: CALL, content, has_metadata, body: Some(Buf::copy_of(body, 0).unwrap()) }
    }

    #[test]
    fn a_request_is_what_its_handler_gets() {
        let mut metadata = Metadata::new();
        metadata.add("key", "value").unwrap();
        let mut behind = vec![0; metadata.length() + 4];
        let write = |into: &mut [u8]| {
            into.copy_from_slice(b"call");
            Ok::<_, Infallible>(Some(4))
        };
        metadata.write_before(&mut behind, write).unwrap();
        let traced = |body: &[u8]| [&[1; Trace::SIZE], body].concat();
        assert_eq!(call(0, false, false, b"call").request().unwrap(), b"call");
        assert_eq!(call(0, false, true, &behind).request().unwrap(), b"call");
        assert_eq!(call(0, true, false, &traced(b"call")).request().unwrap(), b"call");
        assert_eq!(call(0, true, true, &traced(&behind)).request().unwrap(), b"call");
        // A server takes no trace off a body that is too short for one.
        assert_eq!(call(0, true, false, b"short").request().unwrap(), b"short");
        let failure = call(0, false, true, &behind[1..]).request().unwrap_err();
        assert!(matches!(failure.kind(), FailureKind::Malformed | FailureKind::TooLarge), "{failure}");
    }

    #[test]
    fn the_time_for_which_a_call_is_held_is_that_of_its_client() {
        let left = |milliseconds, held| {
            let mut message = call(milliseconds, false, false, b"");
            let waits = message.held_for(Duration::from_micros(held));
            let Content::Call { milliseconds, .. } = message.content else { unreachable!() };
            waits.then_some(milliseconds)
        };
        assert_eq!(left(10, 2_999), Some(8));
        assert_eq!(left(10, 10_000), None);
        assert_eq!(left(10, u64::MAX), None);
        assert_eq!(left(0, u64::MAX), Some(0), "a client without a deadline waits for ever");
    }

    #[test]
    fn a_failure_is_that_of_a_server() {
        let message = Message::failure(CALL, &Failure::of(FailureKind::Denied, "why"));
        assert_eq!((message.call(), message.kind()), (CALL, MessageKind::Failure(FailureKind::Denied)));
        assert_eq!(
            (message.body(), message.content),
            (&b"why"[..], { Content::Failure { kind: FailureKind::Denied, may_have_run: false } })
        );
        assert_eq!((CALL.slot(), CALL.generation()), (7, 9));
    }
}
