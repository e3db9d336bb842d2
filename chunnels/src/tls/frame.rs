//! Messages within the stream of TLS, each behind its length.

use bertha_core::Buf;

/// The bytes of a length, big-endian.
pub const LENGTH: usize = 4;

/// The largest message, in bytes.
pub const LARGEST: usize = 1 << 20;

/// The memory of a message whose first bytes arrive, at most: a pooled buffer. It doubles as more of them do, so that a peer which
/// announces a large message without sending it costs little.
const FIRST: usize = 64 << 10;

/// Decodes messages from a stream that arrives in pieces. Holds one message, and at most twice the memory of what has arrived
/// of it, or 64 KiB.
#[derive(Debug, Default)]
pub struct Frames {
    length: [u8; LENGTH],
    /// The number of bytes of the length that have arrived.
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

/// A length that no peer sends, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge(pub usize);

impl Frames {
    /// Takes the bytes of the next message from `bytes`, and returns it once it is complete. Otherwise all bytes were taken.
    ///
    /// # Errors
    /// [`TooLarge`] for a length beyond [`LARGEST`].
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Buf>, TooLarge> {
        if self.message.is_none() {
            let new = split(bytes, LENGTH - self.known);
            self.length[self.known..self.known + new.len()].copy_from_slice(new);
            self.known += new.len();
            if self.known < LENGTH {
                return Ok(None);
            }
            self.message = Some(Partial::new(u32::from_be_bytes(self.length) as usize)?);
        }
        let Some(partial) = &mut self.message else { return Ok(None) };
        if !partial.fill(bytes)? {
            return Ok(None);
        }
        self.known = 0;
        Ok(self.message.take().map(|partial| partial.message))
    }

    /// Whether the stream may end here: between two messages.
    pub fn is_between(&self) -> bool {
        self.known == 0
    }
}

impl Partial {
    fn new(length: usize) -> Result<Self, TooLarge> {
        let message = if length <= LARGEST { Buf::new(length.min(FIRST), 0).ok() } else { None };
        Ok(Self { message: message.ok_or(TooLarge(length))?, filled: 0, length })
    }

    /// Takes the message's next bytes. Returns whether it is complete.
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
            let mut larger =
                Buf::new(self.length.min(2 * self.filled), 0).map_err(|_| TooLarge(self.length))?;
            larger[..self.filled].copy_from_slice(&self.message);
            self.message = larger;
        }
    }
}

/// Splits at most `limit` bytes off.
fn split<'a>(bytes: &mut &'a [u8], limit: usize) -> &'a [u8] {
    let (first, rest) = bytes.split_at(bytes.len().min(limit));
    *bytes = rest;
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            let (mut rest, mut frames, mut seen) = (&stream[..], Frames::default(), Vec::new());
            for &cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let mut piece = split(&mut rest, cut);
                while let Some(message) = frames.take(&mut piece).unwrap() {
                    seen.push(message.to_vec());
                }
                prop_assert!(piece.is_empty());
            }
            prop_assert!(frames.is_between());
            prop_assert_eq!(seen, messages);
        }

        #[test]
        fn anything_is_decoded_or_refused(bytes: Vec<u8>) {
            let (mut rest, mut frames) = (&bytes[..], Frames::default());
            while let Ok(Some(message)) = frames.take(&mut rest) {
                prop_assert!(message.len() <= LARGEST);
            }
        }
    }

    #[test]
    fn the_largest_length_is_taken_and_no_larger_one() {
        let take =
            |length: usize| Frames::default().take(&mut &(length as u32).to_be_bytes()[..]).map(|_| ());
        assert_eq!(take(LARGEST), Ok(()));
        assert_eq!(take(LARGEST + 1), Err(TooLarge(LARGEST + 1)));
    }

    #[test]
    fn an_announced_message_costs_what_has_arrived_of_it() {
        let mut frames = Frames::default();
        frames.take(&mut &(LARGEST as u32).to_be_bytes()[..]).unwrap();
        let held = |frames: &Frames| frames.message.as_ref().map_or(0, |partial| partial.message.len());
        assert_eq!(held(&frames), FIRST);
        frames.take(&mut &[0; FIRST + 1][..]).unwrap();
        assert_eq!(held(&frames), 2 * FIRST);
    }
}
