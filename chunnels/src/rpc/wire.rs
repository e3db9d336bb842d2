//! The header in front of each message.
//!
//! ```text
//! kind: 1 byte | slot: 3 | generation: 4 | Call, TracedCall: method 4, milliseconds 4
//!                                        | Part, End, Credit, Full: number 4
//!                                        | Failure: kind 1, its highest bit set if the call may have run
//! ```
//!
//! The second-highest bit of the kind of a call, a response, an end or a failure is set if the body begins with
//! [metadata](super::metadata), which the header does not hold.
//!
//! All numbers are little-endian. The body of a traced call begins with its [trace](super::Trace); a server takes it off, whether it
//! uses it or not.

use super::message::{CallId, Content, MAX_SLOT};
use super::{FailureKind, Message};
use bertha_core::{Base, Buf, Error};

/// The longest header, in bytes.
pub(super) const LONGEST: usize = 16;

const SHORTEST: usize = 8;

const CALL: u8 = 1;
const RESPONSE: u8 = 2;
const PART: u8 = 3;
const END: u8 = 4;
const CREDIT: u8 = 5;
const CANCEL: u8 = 6;
const FAILURE: u8 = 7;
const TRACED_CALL: u8 = 8;
const FULL: u8 = 9;
const LEAVING: u8 = 10;

/// The bit of a kind whose body begins with metadata.
const WITH_METADATA: u8 = 0x40;

/// The bit of a failed call that may have run.
const MAY_HAVE_RUN: u8 = 0x80;

/// A header.
pub(super) struct Header {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Header {
    #[inline]
    pub(super) fn new(call: CallId, content: Content, has_metadata: bool) -> Self {
        let (kind, second, behind) = match content {
            Content::Call { method, milliseconds, is_traced } => {
                let kind = if is_traced { TRACED_CALL } else { CALL };
                (kind, u64::from(method) | u64::from(milliseconds) << 32, 8)
            }
            Content::Response => (RESPONSE, 0, 0),
            Content::Part { index } => (PART, index.into(), 4),
            Content::End { parts } => (END, parts.into(), 4),
            Content::Credit { parts } => (CREDIT, parts.into(), 4),
            Content::Cancel => (CANCEL, 0, 0),
            Content::Failure { kind, may_have_run } => {
                let bit = if may_have_run { MAY_HAVE_RUN } else { 0 };
                (FAILURE, (kind.code() | bit).into(), 1)
            }
            Content::Full { calls } => (FULL, calls.into(), 4),
            Content::Leaving => (LEAVING, 0, 0),
        };
        let kind = kind | if has_metadata { WITH_METADATA } else { 0 };
        let first = u64::from(kind) | u64::from(call.slot & MAX_SLOT) << 8 | u64::from(call.generation) << 32;
        let mut bytes = [0; LONGEST];
        bytes[..SHORTEST].copy_from_slice(&first.to_le_bytes());
        bytes[SHORTEST..].copy_from_slice(&second.to_le_bytes());
        Self { bytes, len: SHORTEST + behind }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Writes the header in front of `body`, which has the room for it.
///
/// # Errors
/// `TooLarge` without the room.
#[inline]
pub(super) fn write(call: CallId, content: Content, has_metadata: bool, body: &mut Buf) -> Result<(), Error> {
    let header = Header::new(call, content, has_metadata);
    body.prepend(header.len)?.copy_from_slice(header.bytes());
    Ok(())
}

/// Takes the header off. None if there is none.
#[inline]
pub(super) fn read(mut bytes: Buf) -> Option<Message> {
    let first = u64::from_le_bytes(*bytes.first_chunk()?);
    let call = CallId { slot: (first >> 8) as u32 & MAX_SLOT, generation: (first >> 32) as u32 };
    let number = |bytes: &Buf| bytes.get(SHORTEST..)?.first_chunk().copied().map(u32::from_le_bytes);
    let has_metadata = first as u8 & WITH_METADATA != 0;
    let (content, length) = match first as u8 & !WITH_METADATA {
        kind @ (CALL | TRACED_CALL) => {
            let is_traced = kind == TRACED_CALL;
            let method = number(&bytes)?;
            let milliseconds = u32::from_le_bytes(*bytes.get(SHORTEST + 4..)?.first_chunk()?);
            (Content::Call { method, milliseconds, is_traced }, SHORTEST + 8)
        }
        RESPONSE => (Content::Response, SHORTEST),
        PART => (Content::Part { index: number(&bytes)? }, SHORTEST + 4),
        END => (Content::End { parts: number(&bytes)? }, SHORTEST + 4),
        CREDIT => (Content::Credit { parts: number(&bytes)? }, SHORTEST + 4),
        CANCEL => (Content::Cancel, SHORTEST),
        FAILURE => {
            let code = *bytes.get(SHORTEST)?;
            let kind = FailureKind::of_code(code & !MAY_HAVE_RUN);
            (Content::Failure { kind, may_have_run: code & MAY_HAVE_RUN != 0 }, SHORTEST + 1)
        }
        LEAVING => (Content::Leaving, SHORTEST),
        FULL => (Content::Full { calls: number(&bytes)? }, SHORTEST + 4),
        _ => return None,
    };
    let takes_metadata = matches!(
        content,
        Content::Call { .. } | Content::Response | Content::End { .. } | Content::Failure { .. }
    );
    if has_metadata && !takes_metadata {
        return None;
    }
    bytes.advance(length).ok()?;
    Some(Message { call, content, has_metadata, body: Some(bytes) })
}

impl Message {
    /// Returns the message that these bytes are on the wire, for a Chunnel that carries messages in a way of its own. `None` if the bytes are no message.
    #[inline]
    pub fn decode(bytes: Buf) -> Option<Self> {
        read(bytes)
    }

    /// Returns the bytes of this message on the wire: in a buffer of `base`, with the headroom that the layers below need.
    ///
    /// # Errors
    /// The errors of [`Base::buffer`](bertha_core::Base::buffer).
    #[inline]
    pub fn encode(self, base: &impl Base) -> Result<Buf, Error> {
        let mut body = match self.body {
            Some(body) if body.headroom() >= LONGEST => body,
            // Not from this connection's base.
            Some(body) => Buf::copy_of(&body, LONGEST + base.reserved())?,
            None => base.buffer(0)?,
        };
        write(self.call, self.content, self.has_metadata, &mut body)?;
        Ok(body)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn content() -> impl Strategy<Value = Content> {
        prop_oneof![
            (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(method, milliseconds, is_traced)| {
                Content::Call { method, milliseconds, is_traced }
            }),
            Just(Content::Response),
            any::<u32>().prop_map(|index| Content::Part { index }),
            any::<u32>().prop_map(|parts| Content::End { parts }),
            any::<u32>().prop_map(|parts| Content::Credit { parts }),
            Just(Content::Cancel),
            (0..10_u8, any::<bool>()).prop_map(|(code, may_have_run)| {
                Content::Failure { kind: FailureKind::of_code(code), may_have_run }
            }),
            any::<u32>().prop_map(|calls| Content::Full { calls }),
            Just(Content::Leaving),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            slot in 0..=MAX_SLOT,
            generation in any::<u32>(),
            content in content(),
            body in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let call = CallId { slot, generation };
            let mut bytes = Buf::copy_of(&body, LONGEST).unwrap();
            let has_metadata = body.len() % 2 == 0
                && matches!(content, Content::Call { .. } | Content::Response | Content::End { .. } | Content::Failure { .. });
            write(call, content, has_metadata, &mut bytes).unwrap();
            let read = read(bytes).unwrap();
            prop_assert_eq!((read.call, read.content, read.has_metadata), (call, content, has_metadata));
            prop_assert_eq!(&**read.body.as_ref().unwrap(), &*body);
        }

        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            let header = bytes.len();
            if let Some(message) = read(Buf::copy_of(&bytes, 0).unwrap()) {
                prop_assert!(message.body.unwrap().len() <= header - SHORTEST);
            }
        }
    }

    #[test]
    fn the_format_is_as_described() {
        let mut bytes = Buf::copy_of(b"x", LONGEST).unwrap();
        let content = Content::Call { method: 0x0403_0201, milliseconds: 5, is_traced: false };
        write(CallId { slot: 7, generation: 9 }, content, false, &mut bytes).unwrap();
        assert_eq!(&*bytes, [1, 7, 0, 0, 9, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, b'x']);
        let mut bytes = Buf::copy_of(b"x", LONGEST).unwrap();
        write(CallId { slot: 7, generation: 9 }, Content::Response, true, &mut bytes).unwrap();
        assert_eq!(&*bytes, [0x42, 7, 0, 0, 9, 0, 0, 0, b'x']);
    }

    #[test]
    fn a_message_without_a_place_for_metadata_has_none() {
        for content in [Content::Cancel, Content::Part { index: 0 }, Content::Full { calls: 1 }] {
            let mut bytes = Buf::copy_of(b"x", LONGEST).unwrap();
            write(CallId { slot: 7, generation: 9 }, content, true, &mut bytes).unwrap();
            assert!(read(bytes).is_none(), "{content:?}");
        }
    }
}
