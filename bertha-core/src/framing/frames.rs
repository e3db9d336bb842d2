//! The parser for a stream that is read into buffers of its own.

use super::length::{FIRST, HEADER, TooLarge, announced, memory, split_off};
use crate::{Buf, Error, ErrorKind};
use std::io;

/// Received bytes that are not a whole message yet. It does no I/O: the caller reads the stream.
///
/// It holds no memory between messages, and within a message at most twice the bytes that have arrived, or
/// 64 KiB.
#[derive(Debug)]
pub struct Frames {
    /// The bytes of the current message; `None` between messages, so that an idle connection holds no memory.
    partial: Option<Buf>,
    largest: usize,
}

impl Frames {
    /// Makes the parser for the beginning of a stream whose messages have at most `largest` bytes.
    pub fn new(largest: usize) -> Self {
        Self { partial: None, largest }
    }

    /// Lets later messages have at most `bytes`.
    pub fn set_largest(&mut self, bytes: usize) {
        self.largest = bytes;
    }

    /// Returns the memory of the message that has arrived in part, in bytes.
    pub fn held(&self) -> usize {
        self.partial.as_ref().map_or(0, |partial| partial.len() + partial.tailroom())
    }

    /// Drops the message that has arrived in part, and its memory. The stream can't be read any more.
    pub fn discard(&mut self) {
        self.partial = None;
    }

    /// Returns true if the stream is in the middle of a message.
    pub fn within_message(&self) -> bool {
        self.partial.is_some()
    }

    /// Returns true if the header of the next message announces more than `largest` bytes. The next read then
    /// fails.
    pub fn is_malformed(&self) -> bool {
        self.partial.as_deref().is_some_and(|partial| announced(partial, self.largest).is_err())
    }

    /// Calls `read` with a slice to fill, then `deliver` with each message that is now whole. `read` returns
    /// the number of bytes that it has filled, and this method returns the same number.
    ///
    /// # Errors
    /// The errors of `read`; [`Malformed`](ErrorKind::Malformed), inside an `io::Error`, if a header announces
    /// more than `largest` bytes. The stream can't be read behind such a header, so this error ends the
    /// connection.
    pub fn read(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
        mut deliver: impl FnMut(Buf),
    ) -> io::Result<usize> {
        let mut bytes = self.with_room().map_err(io::Error::other)?;
        let before = bytes.len();
        let room = bytes.tailroom();
        let outcome = bytes.grow(room).map_err(io::Error::other).and_then(read);
        let whole = before + outcome.as_ref().copied().unwrap_or_default();
        if whole == 0 {
            return outcome;
        }
        let mut bytes = if whole == before { cut(bytes, whole) } else { bytes.fitted(whole) };
        // The next call reports an error; the messages before it are whole and are delivered first.
        while let Ok(Some(message)) = split_off(&mut bytes, self.largest) {
            deliver(message);
        }
        self.partial = (!bytes.is_empty()).then_some(bytes);
        outcome
    }

    /// Returns the bytes of the partial message in a buffer with tailroom for the rest of it, or for as many
    /// bytes as it has so far.
    fn with_room(&mut self) -> Result<Buf, Error> {
        let announced = match &self.partial {
            Some(partial) => announced(partial, self.largest).map_err(|length| self.malformed(length))?,
            None => None,
        };
        let Some(partial) = self.partial.take() else {
            let mut buffer = Buf::new(FIRST, 0)?;
            buffer.truncate(0);
            return Ok(buffer);
        };
        let whole = HEADER + announced.unwrap_or_default();
        if partial.tailroom() > 0 && partial.len() + partial.tailroom() >= whole.min(FIRST) {
            return Ok(partial);
        }
        // The buffer may take the messages behind as well.
        let mut buffer = Buf::new(memory(whole, partial.len()).max(FIRST), 0)?;
        buffer[..partial.len()].copy_from_slice(&partial);
        buffer.truncate(partial.len());
        Ok(buffer)
    }

    #[cold]
    fn malformed(&self, length: TooLarge) -> Error {
        Error::new(ErrorKind::Malformed, length.told(self.largest)).ending_connection()
    }
}

fn cut(mut bytes: Buf, len: usize) -> Buf {
    bytes.truncate(len);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feed(frames: &mut Frames, bytes: &mut &[u8], at_most: usize, into: &mut Vec<Vec<u8>>) -> bool {
        let read = |room: &mut [u8]| {
            let n = bytes.len().min(at_most).min(room.len());
            room[..n].copy_from_slice(&bytes[..n]);
            *bytes = &bytes[n..];
            Ok(n)
        };
        frames.read(read, |message| into.push(message.to_vec())).is_ok()
    }

    #[test]
    fn an_announced_message_gets_memory_as_it_arrives() {
        let mut frames = Frames::new(16 << 20);
        let stream = [&(16u32 << 20).to_be_bytes()[..], &[7; 300_000]].concat();
        let (mut rest, mut seen) = (&stream[..], Vec::new());
        while !rest.is_empty() {
            assert!(feed(&mut frames, &mut rest, 10_000, &mut seen));
            let partial = frames.partial.as_ref().unwrap();
            let (held, arrived) = (partial.len() + partial.tailroom(), partial.len());
            assert!(held <= 2 * (FIRST + arrived), "{held} for {arrived}");
        }
        assert!(seen.is_empty());
    }

    proptest! {
        #[test]
        fn messages_survive_any_fragmentation(
            lengths in proptest::collection::vec(prop_oneof![0usize..200, 2000usize..70_000], 1..20),
            reads in proptest::collection::vec(prop_oneof![1usize..8, 1usize..3000, 1usize..200_000], 1..20),
        ) {
            let messages: Vec<Vec<u8>> =
                lengths.iter().enumerate().map(|(n, &len)| (0..len).map(|at| (n * 7 + at) as u8).collect()).collect();
            let stream: Vec<u8> = messages
                .iter()
                .flat_map(|message| [&(message.len() as u32).to_be_bytes()[..], message].concat())
                .collect();
            let (mut rest, mut seen, mut frames) = (&stream[..], Vec::new(), Frames::new(70_000));
            for &at_most in reads.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                prop_assert!(feed(&mut frames, &mut rest, at_most.max(1), &mut seen));
            }
            prop_assert!(!frames.within_message());
            prop_assert_eq!(seen, messages);
        }
    }

    #[test]
    fn a_read_that_blocks_loses_nothing() {
        let (mut frames, mut seen) = (Frames::new(10), Vec::new());
        assert!(feed(&mut frames, &mut &b"\0\0\0\x03a"[..], 9, &mut seen));
        let blocked = frames.read(|_| Err(io::ErrorKind::WouldBlock.into()), |_| panic!("no message"));
        assert_eq!(blocked.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(feed(&mut frames, &mut &b"bc"[..], 9, &mut seen));
        assert_eq!(seen, [b"abc"]);
    }

    #[test]
    fn a_length_beyond_the_largest_is_malformed() {
        let mut frames = Frames::new(10);
        let read = |room: &mut [u8]| {
            room[..4].copy_from_slice(&11u32.to_be_bytes());
            Ok(4)
        };
        assert_eq!(frames.read(read, |_| panic!("no message")).unwrap(), 4);
        for _ in 0..2 {
            let error = frames.read(|_| panic!("nothing is read"), |_| panic!("no message")).unwrap_err();
            assert_eq!(error.downcast::<Error>().unwrap().kind(), ErrorKind::Malformed);
        }
    }
}
