//! The fate of a message.

/// The fate of a received message.
///
/// Parts of a message that were split may have different fates; the fate of the whole is the last of them in
/// this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Fate {
    /// The receiver has finished its work on the message ([`Buf::done`](super::Buf::done)).
    Done,
    /// The message was dropped without a word: its receiver failed, was cancelled, or forgot the message.
    Dropped,
    /// The receiver gave the message back ([`Buf::give_back`](super::Buf::give_back)).
    GivenBack,
}

impl Fate {
    pub(super) fn of_number(number: u8) -> Self {
        match number {
            0 => Self::Done,
            1 => Self::Dropped,
            _ => Self::GivenBack,
        }
    }
}
