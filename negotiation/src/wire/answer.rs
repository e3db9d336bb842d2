//! A server's reply to an offer, and either end's last message.

use super::TICKET;
use bertha_core::{DifferingCapability, ErrorKind};
use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Maximum length of a text in an answer or a refusal, in bytes; longer texts are cut.
pub(crate) const TEXT_LIMIT: usize = 900;

/// The server's choice of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The connection id of the offer.
    pub id: u64,
    /// The branch of each of the client's choices, in pre-order.
    pub client_picks: Vec<u8>,
    /// The branch of each of the server's choices.
    pub server_picks: Vec<u8>,
    /// The idle time-out of both ends, in milliseconds.
    pub idle_ms: u32,
    /// If the server still has another connection with this address: the number that the client has to send
    /// back before the new connection replaces it.
    pub confirm: Option<u64>,
    /// Number of messages that came with the offer and were taken; 0 if there were none, or none could be
    /// taken.
    pub early: u16,
    /// The ticket with which the client may send messages along with its next offer; `None` if the server
    /// takes no such messages.
    pub ticket: Option<[u8; TICKET]>,
    /// The agreed layers, for a human reader.
    pub stack: String,
    /// The reasons why alternatives were passed over.
    pub reasons: String,
    /// The server's capabilities that differ from the client's. Without such capabilities, the message has no
    /// bytes for them.
    pub capabilities: Vec<DifferingCapability>,
}

/// The bit in the field `early` that says that `capabilities` follow.
const HAS_CAPABILITIES: u32 = 1 << 16;

/// The fields of an answer with capabilities.
const FIELDS: usize = 10;

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_capabilities = !self.capabilities.is_empty();
        let flag = if has_capabilities { HAS_CAPABILITIES } else { 0 };
        let mut fields = serializer.serialize_tuple(FIELDS - usize::from(!has_capabilities))?;
        fields.serialize_element(&self.id)?;
        fields.serialize_element(&self.client_picks)?;
        fields.serialize_element(&self.server_picks)?;
        fields.serialize_element(&self.idle_ms)?;
        fields.serialize_element(&self.confirm)?;
        fields.serialize_element(&(u32::from(self.early) | flag))?;
        fields.serialize_element(&self.ticket)?;
        fields.serialize_element(&self.stack)?;
        fields.serialize_element(&self.reasons)?;
        if has_capabilities {
            fields.serialize_element(&self.capabilities)?;
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(FIELDS, AnswerVisitor)
    }
}

struct AnswerVisitor;

impl<'de> Visitor<'de> for AnswerVisitor {
    type Value = Answer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Answer, A::Error> {
        let id = next(&mut fields)?;
        let client_picks = next(&mut fields)?;
        let server_picks = next(&mut fields)?;
        let (idle_ms, confirm, early) =
            (next(&mut fields)?, next(&mut fields)?, next::<u32, _>(&mut fields)?);
        let ticket = next(&mut fields)?;
        let stack = next(&mut fields)?;
        let reasons = next(&mut fields)?;
        let capabilities = match early & HAS_CAPABILITIES {
            0 => Vec::new(),
            _ => next::<Vec<_>, _>(&mut fields)?,
        };
        if (early & HAS_CAPABILITIES != 0) == capabilities.is_empty() {
            return Err(A::Error::custom("capabilities that differ, and none of them"));
        }
        let early = u16::try_from(early & !HAS_CAPABILITIES).map_err(A::Error::custom)?;
        Ok(Answer {
            id,
            client_picks,
            server_picks,
            idle_ms,
            confirm,
            early,
            ticket,
            stack,
            reasons,
            capabilities,
        })
    }
}

fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(fields: &mut A) -> Result<T, A::Error> {
    fields.next_element()?.ok_or_else(|| A::Error::custom("an answer that ends too early"))
}

/// The server's refusal: it can't run any offered stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The connection id of the offer; 0 if the id could not be read.
    pub id: u64,
    /// The kind of refusal.
    pub kind: RefusalKind,
    /// The Chunnel, and the reason.
    pub text: String,
}

/// The reason why an offer was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalKind {
    /// No stack suits both ends.
    Incompatible,
    /// The server speaks another version of this protocol.
    Version,
    /// The offer does not follow the format.
    Malformed,
    /// One end requires a proof of origin that the other can't give.
    Unauthenticated,
    /// The offer came with messages and made an earlier connection, which is gone.
    Spent,
    /// The server has no room for the client at the moment.
    Busy,
}

impl RefusalKind {
    /// Returns the kind of error that both ends report.
    pub fn error_kind(self) -> ErrorKind {
        match self {
            Self::Incompatible => ErrorKind::Refused,
            Self::Version => ErrorKind::Version,
            Self::Malformed => ErrorKind::Malformed,
            Self::Unauthenticated => ErrorKind::Unauthenticated,
            Self::Spent => ErrorKind::Reset,
            Self::Busy => ErrorKind::Exhausted,
        }
    }
}

/// The client's confirmation, after an answer that asks for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirm {
    /// The connection id.
    pub id: u64,
    /// The number in the answer, which proves that its receiver is there: no message from an earlier
    /// connection has it.
    pub number: u64,
}

/// The closing of a connection by an end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Close {
    /// The connection id.
    pub id: u64,
    /// The failure of the sender; empty if it closed because it was done, `DROPPED` if it did not close.
    pub failure: String,
}

/// The `failure` of a [`Close`] whose sender dropped its end of the connection without closing it. The text of a failure names layer and
/// kind, so none is this word alone.
pub(crate) const DROPPED: &str = "dropped";

/// Shortens `text` to the limit, at a character's edge.
pub(crate) fn cut(text: String) -> String {
    cut_to(text, TEXT_LIMIT)
}

/// Shortens `text` to `most` bytes, at a character boundary.
pub(crate) fn cut_to(mut text: String, most: usize) -> String {
    if text.len() > most {
        let edge = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(edge);
    }
    text
}
