//! The writing of packets.

use super::Check;
use super::check::CRC;
use super::packet::{
    ABORT, ACK, Acknowledgement, FIXED, Fault, GRANT, Grant, LAST, MARKS, MESSAGES, NUMBERED,
};
use super::varint::{self, size};
use bertha_core::EcnMarks;

/// The longest header of a packet with one message: check, flags, both numbers and the length.
pub(in crate::reliable) const OVERHEAD: usize = CRC + FIXED + 8 + 8 + 4;

/// The header of a packet to be written.
#[derive(Debug, Default)]
pub(in crate::reliable) struct Draft {
    pub(in crate::reliable) number: Option<u64>,
    pub(in crate::reliable) ack: Option<Acknowledgement>,
    pub(in crate::reliable) grant: Option<Grant>,
    pub(in crate::reliable) last: Option<u64>,
    pub(in crate::reliable) abort: Option<Fault>,
    pub(in crate::reliable) marks: Option<EcnMarks>,
    /// The number of the first message.
    pub(in crate::reliable) first: Option<u64>,
}

impl Draft {
    /// Returns the number of bytes without the check and the messages.
    pub(in crate::reliable) fn size(&self) -> usize {
        let numbers = [self.number, self.last, self.first].into_iter().flatten().map(size).sum::<usize>();
        let ack = self.ack.as_ref().map_or(0, ack_size);
        let grant = self.grant.map_or(0, |grant| size(grant.messages) + size(grant.bytes));
        let marks = self.marks.map_or(0, |marks| size(marks.datagrams) + size(marks.bytes));
        FIXED + numbers + ack + grant + usize::from(self.abort.is_some()) + marks
    }

    fn flags(&self) -> u8 {
        let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
        flag(NUMBERED, self.number.is_some())
            | flag(ACK, self.ack.is_some())
            | flag(GRANT, self.grant.is_some())
            | flag(LAST, self.last.is_some())
            | flag(ABORT, self.abort.is_some())
            | flag(MARKS, self.marks.is_some())
            | flag(MESSAGES, self.first.is_some())
    }
}

fn ack_size(ack: &Acknowledgement) -> usize {
    let mut total = size(ack.delay_us) + 1;
    let mut above = None;
    for range in ack.ranges.iter().rev() {
        let low = *range.start();
        let high = *range.end();
        total += size(high - low) + above.map_or(size(high), |above: u64| size(above - high - 2));
        above = Some(low);
    }
    total
}

/// Writes `draft`, then `messages`, then the check in front. `packet` must have the length that they fill.
pub(in crate::reliable) fn write<'a>(
    draft: &Draft,
    messages: impl Iterator<Item = &'a [u8]>,
    check: Check,
    packet: &mut [u8],
) {
    let mut writer = Writer { packet, at: check.len() };
    writer.bytes(&[draft.flags()]);
    draft.number.into_iter().for_each(|number| writer.varint(number));
    if let Some(ack) = &draft.ack {
        writer.varint(ack.delay_us);
        let further = ack.ranges.iter().len().saturating_sub(1);
        writer.bytes(&[further as u8]);
        let mut above = None;
        for range in ack.ranges.iter().rev() {
            let low = *range.start();
            let high = *range.end();
            writer.varint(above.map_or(high, |above: u64| above - high - 2));
            writer.varint(high - low);
            above = Some(low);
        }
    }
    if let Some(grant) = draft.grant {
        writer.varint(grant.messages);
        writer.varint(grant.bytes);
    }
    draft.last.into_iter().for_each(|last| writer.varint(last));
    draft.abort.into_iter().for_each(|fault| writer.bytes(&[fault as u8]));
    if let Some(marks) = draft.marks {
        writer.varint(marks.datagrams);
        writer.varint(marks.bytes);
    }
    draft.first.into_iter().for_each(|first| writer.varint(first));
    for message in messages {
        writer.varint(message.len() as u64);
        writer.bytes(message);
    }
    debug_assert_eq!(writer.at, writer.packet.len(), "the packet's size was computed wrongly");
    check.put(writer.packet);
}

struct Writer<'a> {
    packet: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn varint(&mut self, number: u64) {
        self.bytes(&varint::encode(number)[..size(number)]);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.packet[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}
