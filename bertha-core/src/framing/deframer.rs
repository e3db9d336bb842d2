//! The parser for the bytes of a stream that are in memory already, in pieces.

use super::length::{HEADER, TooLarge, checked, memory, split_off};
use crate::Buf;

/// Decodes messages. It holds one message, and at most twice the memory of the bytes of it that have arrived,
/// or 64 KiB.
#[derive(Debug)]
pub struct Deframer {
    largest: usize,
    header: [u8; HEADER],
    /// The number of bytes of the header that have arrived.
    known: usize,
    message: Option<Partial>,
}

/// A message whose length is known.
#[derive(Debug)]
struct Partial {
    message: Buf,
    /// The number of bytes of the message that have arrived.
    filled: usize,
    length: usize,
}

impl Deframer {
    /// Makes a decoder for the beginning of a stream whose messages have at most `largest` bytes.
    pub fn new(largest: usize) -> Self {
        Self { largest, header: [0; HEADER], known: 0, message: None }
    }

    /// Takes the bytes of the next message from `bytes`, and returns the message once it is complete.
    /// Otherwise all bytes were taken.
    ///
    /// # Errors
    /// [`TooLarge`] for a length beyond the largest, or without memory for it; every later call fails as
    /// well.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Buf>, TooLarge> {
        if self.message.is_none() {
            let new = split(bytes, HEADER - self.known);
            self.header[self.known..self.known + new.len()].copy_from_slice(new);
            self.known += new.len();
            if self.known < HEADER {
                return Ok(None);
            }
            self.message = Some(Partial::new(checked(self.header, self.largest)?)?);
        }
        let Some(partial) = &mut self.message else { return Ok(None) };
        if !partial.fill(bytes)? {
            return Ok(None);
        }
        self.known = 0;
        Ok(self.message.take().map(|partial| partial.message))
    }

    /// Splits a message off the front of `bytes`, without a copy, if it lies there as a whole.
    pub fn split_off(&self, bytes: &mut Buf) -> Option<Buf> {
        if !self.is_between() {
            return None;
        }
        // `take` reports a length beyond the largest.
        split_off(bytes, self.largest).ok().flatten()
    }

    /// Returns true if the stream may end here: between two messages.
    pub fn is_between(&self) -> bool {
        self.known == 0
    }
}

impl Partial {
    fn new(length: usize) -> Result<Self, TooLarge> {
        let message = Buf::new(memory(length, 0), 0).map_err(|_| TooLarge(length))?;
        Ok(Self { message, filled: 0, length })
    }

    /// Takes the message's next bytes. Returns true if the message is complete.
    fn fill(&mut self, bytes: &mut &[u8]) -> Result<bool, TooLarge> {
        loop {
            let new = split(bytes, self.message.len() - self.filled);
            self.message[self.filled..self.filled + new.len()].copy_from_slice(new);
            self.filled += new.len();
            if self.filled == self.length {
                return Ok(true);
            }
            if bytes.is_empty() {
                return Ok(false);
            }
            let larger = memory(self.length, self.filled);
            let mut larger = Buf::new(larger, 0).map_err(|_| TooLarge(self.length))?;
            larger[..self.filled].copy_from_slice(&self.message);
            self.message = larger;
        }
    }
}

/// Splits off at most `limit` bytes.
fn split<'a>(bytes: &mut &'a [u8], limit: usize) -> &'a [u8] {
    let (first, rest) = bytes.split_at(bytes.len().min(limit));
    *bytes = rest;
    first
}

#[cfg(test)]
mod tests {
    use super::super::length::FIRST;
    use super::*;
    use proptest::prelude::*;

    const LARGEST: usize = 1 << 20;

    proptest! {
        #[test]
        fn messages_survive_any_cuts(
            lengths in proptest::collection::vec(prop_oneof![0usize..100, 10_000usize..100_000], 0..6),
            cuts in proptest::collection::vec(prop_oneof![1usize..10, 1usize..60_000], 1..10),
        ) {
            let messages: Vec<Vec<u8>> =
                lengths.iter().map(|&length| (0..length).map(|at| (at * 31 + length) as u8).collect()).collect();
            let stream: Vec<u8> = messages
                .iter()
                .flat_map(|message| [&(message.len() as u32).to_be_bytes()[..], message].concat())
                .collect();
            let (mut rest, mut deframer, mut seen) = (&stream[..], Deframer::new(LARGEST), Vec::new());
            for &cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let mut piece = split(&mut rest, cut);
                while let Some(message) = deframer.take(&mut piece).unwrap() {
                    seen.push(message.to_vec());
                }
                prop_assert!(piece.is_empty());
            }
            prop_assert!(deframer.is_between());
            prop_assert_eq!(seen, messages);
        }

        #[test]
        fn anything_is_decoded_or_refused(bytes: Vec<u8>) {
            let (mut rest, mut deframer) = (&bytes[..], Deframer::new(LARGEST));
            while let Ok(Some(message)) = deframer.take(&mut rest) {
                prop_assert!(message.len() <= LARGEST);
            }
        }
    }

    #[test]
    fn the_largest_length_is_taken_and_no_larger_one() {
        let header = |length: usize| (length as u32).to_be_bytes();
        assert!(Deframer::new(LARGEST).take(&mut &header(LARGEST)[..]).is_ok());
        let mut deframer = Deframer::new(LARGEST);
        for mut bytes in [&header(LARGEST + 1)[..], &[], &[0; 8]] {
            assert_eq!(deframer.take(&mut bytes).map(|_| ()), Err(TooLarge(LARGEST + 1)));
        }
    }

    #[test]
    fn a_message_that_is_there_as_a_whole_is_not_copied() {
        let mut bytes = Buf::copy_of(b"\0\0\0\x02hi\0\0\0\x02y", 0).unwrap();
        let place = bytes[HEADER..].as_ptr();
        let message = Deframer::new(2).split_off(&mut bytes).unwrap();
        assert!(*message == *b"hi" && message.as_ptr() == place);
        let mut deframer = Deframer::new(2);
        assert!(deframer.split_off(&mut bytes).is_none() && bytes.len() == HEADER + 1);
        assert!(deframer.take(&mut &bytes[..]).unwrap().is_none());
        // The bytes belong to a message, so that no message begins here.
        let mut bytes = Buf::copy_of(b"\0\0\0\0\0", 0).unwrap();
        assert!(deframer.split_off(&mut bytes).is_none());
        let mut largest = Buf::copy_of(b"\0\0\0\x03abc", 0).unwrap();
        assert!(Deframer::new(2).split_off(&mut largest).is_none());
    }

    #[test]
    fn an_announced_message_costs_what_has_arrived_of_it() {
        let mut deframer = Deframer::new(LARGEST);
        deframer.take(&mut &(LARGEST as u32).to_be_bytes()[..]).unwrap();
        let held = |deframer: &Deframer| deframer.message.as_ref().map_or(0, |partial| partial.message.len());
        assert_eq!(held(&deframer), FIRST);
        deframer.take(&mut &[0; FIRST + 1][..]).unwrap();
        assert_eq!(held(&deframer), 2 * FIRST);
    }
}
