//! The messages.
//!
//! A message consists of a byte for its kind, and a number in eight bytes. A report has four more such
//! numbers: messages, bytes, late messages, microseconds; an order has two: microseconds and length. All
//! numbers are big-endian, and bytes behind them are padding.

use std::time::Duration;

/// Length of the shortest message, in bytes.
pub(crate) const SHORTEST: usize = 9;

/// Length of a report, in bytes.
const REPORT: usize = SHORTEST + 32;

/// Length of an order, in bytes.
const ORDER: usize = SHORTEST + 16;

/// The longest time for which a server sends.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A decoded message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Data that the server counts; numbered from 0.
    Data(u64),
    /// A message that the server returns as a [`Pong`](Self::Pong) of equal length.
    Ping(u64),
    Pong(u64),
    /// A question for the server's report.
    Ask(u64),
    Report(Report),
    /// An order that makes the server send, or a question for its report of having sent.
    Order(Order),
    /// The server's report of what it has sent.
    Sent(Report),
}

/// A client's order that the server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    number: u64,
    /// Time for which the server sends.
    pub(crate) time: Duration,
    /// Length of each message in bytes.
    pub(crate) length: usize,
}

/// The messages that an end has received, or sent, over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Report {
    /// Number of the request that the report answers.
    pub(crate) number: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// Number of messages that arrived behind a message with a higher number.
    pub(crate) late: u64,
    /// Time from the first message to the last.
    pub(crate) microseconds: u64,
}

/// The first byte of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Data = 1,
    Ping = 2,
    Pong = 3,
    Ask = 4,
    Report = 5,
    Order = 6,
    Sent = 7,
}

/// Writes kind and number to the front of a message, which is at least [`SHORTEST`] bytes long; a shorter
/// message stays as it is.
pub(crate) fn mark(message: &mut [u8], kind: Kind, number: u64) {
    if let Some(front) = message.first_chunk_mut::<SHORTEST>() {
        front[0] = kind as u8;
        front[1..].copy_from_slice(&number.to_be_bytes());
    }
}

impl Probe {
    /// Decodes the message in these bytes, if they are a message.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, numbers) = bytes.split_first()?;
        let mut numbers = numbers.as_chunks::<8>().0.iter().map(|number| u64::from_be_bytes(*number));
        let number = numbers.next()?;
        match *kind {
            kind if kind == Kind::Data as u8 => Some(Self::Data(number)),
            kind if kind == Kind::Ping as u8 => Some(Self::Ping(number)),
            kind if kind == Kind::Pong as u8 => Some(Self::Pong(number)),
            kind if kind == Kind::Ask as u8 => Some(Self::Ask(number)),
            kind if kind == Kind::Report as u8 => Some(Self::Report(Report::read(number, numbers)?)),
            kind if kind == Kind::Order as u8 => Some(Self::Order(Order::read(number, numbers)?)),
            kind if kind == Kind::Sent as u8 => Some(Self::Sent(Report::read(number, numbers)?)),
            _ => None,
        }
    }
}

impl Report {
    /// Encodes the report. `kind` says if it is about received or sent messages.
    pub(crate) fn encoded(&self, kind: Kind) -> [u8; REPORT] {
        let Self { number, messages, bytes, late, microseconds } = *self;
        let mut message = [0; REPORT];
        mark(&mut message, kind, number);
        write(&mut message, [messages, bytes, late, microseconds]);
        message
    }

    fn read(number: u64, mut numbers: impl Iterator<Item = u64>) -> Option<Self> {
        let messages = numbers.next()?;
        let bytes = numbers.next()?;
        let late = numbers.next()?;
        let microseconds = numbers.next()?;
        Some(Self { number, messages, bytes, late, microseconds })
    }
}

impl Order {
    pub(crate) fn new(number: u64, time: Duration, length: usize) -> Self {
        Self { number, time: time.min(LONGEST), length }
    }

    pub(crate) fn encoded(&self) -> [u8; ORDER] {
        let mut message = [0; ORDER];
        mark(&mut message, Kind::Order, self.number);
        write(&mut message, [self.time.as_micros() as u64, self.length as u64]);
        message
    }

    fn read(number: u64, mut numbers: impl Iterator<Item = u64>) -> Option<Self> {
        let time = Duration::from_micros(numbers.next()?);
        let length = numbers.next()?;
        Some(Self::new(number, time, usize::try_from(length).ok()?))
    }
}

/// Writes numbers behind the first number of a message.
fn write<const COUNT: usize>(message: &mut [u8], numbers: [u64; COUNT]) {
    for (place, number) in message[SHORTEST..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_as_it_was_written() {
        let report = Report { number: 1, messages: 2, bytes: 3, late: 4, microseconds: u64::MAX };
        assert_eq!(Probe::read(&report.encoded(Kind::Report)), Some(Probe::Report(report)));
        assert_eq!(Probe::read(&report.encoded(Kind::Sent)), Some(Probe::Sent(report)));
        let order = Order::new(3, Duration::from_millis(4), 5);
        assert_eq!(Probe::read(&order.encoded()), Some(Probe::Order(order)));
        let mut message = [7; 20];
        mark(&mut message, Kind::Ping, 1 << 40);
        assert_eq!(Probe::read(&message), Some(Probe::Ping(1 << 40)));
    }

    #[test]
    fn other_bytes_are_no_message() {
        for bytes in [&[][..], &[1], &[0; 9], &[9; 64], &[5; 40], &[1; 8]] {
            assert_eq!(Probe::read(bytes), None, "{bytes:?}");
        }
        let mut short = [0; 8];
        mark(&mut short, Kind::Data, 1);
        assert_eq!(short, [0; 8]);
    }
}
