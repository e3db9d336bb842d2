//! The decoding of packets.

use super::reader::Reader;
use super::{Check, Ranges};
use bertha_core::EcnMarks;
use std::fmt;
use std::ops::Range;

/// The packet has a number and has to be acknowledged.
pub(super) const NUMBERED: u8 = 1;
pub(super) const ACK: u8 = 1 << 1;
pub(super) const GRANT: u8 = 1 << 2;
pub(super) const LAST: u8 = 1 << 3;
pub(super) const ABORT: u8 = 1 << 4;
pub(super) const MESSAGES: u8 = 1 << 5;
pub(super) const MARKS: u8 = 1 << 6;
/// The datagram is a piece of a packet, and has no other part.
pub(super) const PIECE: u8 = 1 << 7;
const KNOWN: u8 = NUMBERED | ACK | GRANT | LAST | ABORT | MESSAGES | MARKS;

/// The flags.
pub(super) const FIXED: usize = 1;

/// The header of a packet: all parts but the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The packet's number, if it has to be acknowledged.
    pub number: Option<u64>,
    /// The packets that the sender has received.
    pub ack: Option<Acknowledgement>,
    /// The messages and bytes that the sender may be sent.
    pub grant: Option<Grant>,
    /// The total number of messages, if the sender closes.
    pub last: Option<u64>,
    /// The fault for which the sender refuses the peer, if it does.
    pub abort: Option<Fault>,
    /// The datagrams that the sender received with a mark for congestion, if it counts them.
    pub marks: Option<EcnMarks>,
    /// The position and the number of the first message, if there are any.
    pub messages: Option<Messages>,
}

/// An acknowledgement of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The time between the arrival of the newest packet and this acknowledgement, in microseconds.
    pub delay_us: u64,
    /// The numbers of the packets; at least one.
    pub ranges: Ranges,
}

/// The totals that a peer may send since the connection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Messages.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// A violation of the protocol by the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Fault {
    /// It acknowledged a packet that was never sent.
    AcknowledgedUnsent = 1,
    /// It sent more than it was granted.
    ExceededGrant = 2,
    /// It sent messages beyond the last, or two different last ones.
    ContradictedEnd = 3,
    /// It acknowledged nothing until the idle time-out, while packets were in flight.
    NeverAcknowledged = 4,
    /// A reason that this version does not know.
    Other = 255,
}

impl Fault {
    fn of(byte: u8) -> Self {
        match byte {
            1 => Self::AcknowledgedUnsent,
            2 => Self::ExceededGrant,
            3 => Self::ContradictedEnd,
            4 => Self::NeverAcknowledged,
            _ => Self::Other,
        }
    }
}

/// A predicate, to be read behind "the peer" or "this end".
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AcknowledgedUnsent => "acknowledged a packet that was never sent",
            Self::ExceededGrant => "sent more than it was granted",
            Self::ContradictedEnd => "sent messages beyond the last, or two different last ones",
            Self::NeverAcknowledged => "did not acknowledge a message until the idle time-out",
            Self::Other => "broke the protocol",
        })
    }
}

/// The position of the messages of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages {
    /// The number of the first.
    pub first: u64,
    /// The start of the first, in bytes from the start of the packet.
    pub at: usize,
}

/// One message of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The number of the message.
    pub number: u64,
    /// The position of its bytes in the packet.
    pub bytes: Range<usize>,
}

/// Decodes `packet`; `None` if it is damaged or malformed. It is checked to its end, so iterating over its
/// [`messages`](Messages::iter) never fails.
pub fn decode(packet: &[u8], check: Check) -> Option<Header> {
    if !check.holds(packet) {
        return None;
    }
    let mut reader = Reader::new(packet, check.len());
    let flags = reader.byte()?;
    if flags & !KNOWN != 0 {
        return None;
    }
    let number = if flags & NUMBERED != 0 { Some(reader.varint()?) } else { None };
    let ack = if flags & ACK != 0 { Some(acknowledgement(&mut reader)?) } else { None };
    let grant = match flags & GRANT {
        0 => None,
        _ => Some(Grant { messages: reader.varint()?, bytes: reader.varint()? }),
    };
    let last = if flags & LAST != 0 { Some(reader.varint()?) } else { None };
    let abort = if flags & ABORT != 0 { Some(Fault::of(reader.byte()?)) } else { None };
    let marks = match flags & MARKS {
        0 => None,
        _ => Some(EcnMarks { datagrams: reader.varint()?, bytes: reader.varint()? }),
    };
    let messages = match flags & MESSAGES {
        0 => None,
        _ => Some(Messages { first: reader.varint()?, at: reader.position() }),
    };
    let end = match messages {
        Some(messages) => messages.check(packet)?,
        None => reader.position(),
    };
    // A packet with messages but no number could never be acknowledged.
    (end == packet.len() && (messages.is_none() || number.is_some())).then_some(Header {
        number,
        ack,
        grant,
        last,
        abort,
        marks,
        messages,
    })
}

fn acknowledgement(reader: &mut Reader<'_>) -> Option<Acknowledgement> {
    let delay_us = reader.varint()?;
    let further = reader.byte()?;
    let mut high = reader.varint()?;
    let mut ranges = Ranges::NONE;
    for left in (0..=further).rev() {
        let low = high.checked_sub(reader.varint()?)?;
        if !ranges.push_older(low, high) {
            return None;
        }
        if left > 0 {
            high = low.checked_sub(reader.varint()?.checked_add(2)?)?;
        }
    }
    Some(Acknowledgement { delay_us, ranges })
}

impl Messages {
    /// Returns the messages of `packet`, whose header this is a part of.
    pub fn iter(self, packet: &[u8]) -> impl Iterator<Item = Message> + '_ {
        let mut next = self;
        std::iter::from_fn(move || next.pop(packet))
    }

    /// Takes the first message off, if it is complete.
    pub(in crate::reliable) fn pop(&mut self, packet: &[u8]) -> Option<Message> {
        let mut reader = Reader::new(packet, self.at);
        let len = usize::try_from(reader.varint()?).ok()?;
        let start = reader.position();
        let end = start.checked_add(len).filter(|end| *end <= packet.len())?;
        let number = self.first;
        *self = Self { first: number.checked_add(1)?, at: end };
        Some(Message { number, bytes: start..end })
    }

    /// Returns the end of the last message; `None` if there is no message, or a malformed message.
    fn check(mut self, packet: &[u8]) -> Option<usize> {
        self.pop(packet)?;
        while self.at < packet.len() {
            self.pop(packet)?;
        }
        Some(self.at)
    }
}
