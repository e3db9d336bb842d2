//! The header of a message that a sequencer orders.

use bertha_core::Buf;

/// The size of the header: sender, number and place, eight bytes each, little-endian.
pub(super) const HEADER: usize = 24;

/// The position of a message that has no position yet.
const UNPLACED: u64 = u64::MAX;

/// The sender of a message, its number among the sender's messages, and its position in the order of the
/// sequencer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) sender: u64,
    pub(super) number: u64,
    pub(super) place: Option<u64>,
}

/// A decoded message.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) placed: Placed,
    pub(super) payload: Buf,
}

impl Placed {
    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        for (at, number) in [self.sender, self.number, self.place.unwrap_or(UNPLACED)].into_iter().enumerate()
        {
            bytes[8 * at..8 * (at + 1)].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }
}

impl Frame {
    /// Splits off the header; `None` if the message is malformed.
    pub(super) fn parse(mut message: Buf) -> Option<Self> {
        let header = *message.first_chunk::<HEADER>()?;
        message.advance(HEADER).ok()?;
        let mut numbers =
            header.chunks_exact(8).map(|it| it.try_into().map(u64::from_le_bytes).unwrap_or(UNPLACED));
        let sender = numbers.next()?;
        let number = numbers.next()?;
        let place = numbers.next()?;
        let placed = Placed { sender, number, place: (place != UNPLACED).then_some(place) };
        (number < UNPLACED).then_some(Self { placed, payload: message })
    }
}
