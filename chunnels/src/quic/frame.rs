//! Messages on a stream of bytes, each behind its length.

use bertha_core::Buf;

/// The bytes of a length, big-endian.
pub const LENGTH: usize = 4;

/// The largest message, in bytes.
pub const LARGEST: usize = 64 * 1024;

/// Takes messages out of a stream that comes in pieces. Holds one message of the length that the peer announced, at most
/// [`LARGEST`].
#[derive(Debug, Default)]
pub struct Frames {
    length: [u8; LENGTH],
    /// How much of the length has come.
    known: usize,
    /// The message whose length is known, and how much of it has come.
    message: Option<(Buf, usize)>,
}

/// What no peer sends: a message of so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge(pub usize);

impl Frames {
    /// Takes from `bytes` what belongs to the next message, and returns it once it is whole. Otherwise all were taken.
    ///
    /// # Errors
    /// If it is larger than any may be.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Buf>, TooLarge> {
        if self.message.is_none() {
            let (new, rest) = bytes.split_at(bytes.len().min(LENGTH - self.known));
            self.length[self.known..self.known + new.len()].copy_from_slice(new);
            (self.known, *bytes) = (self.known + new.len(), rest);
            if self.known < LENGTH {
                return Ok(None);
            }
            let len = u32::from_be_bytes(self.length) as usize;
            let message = Some(len).filter(|len| *len <= LARGEST).and_then(|len| Buf::new(len, 0).ok());
            self.message = Some((message.ok_or(TooLarge(len))?, 0));
        }
        let Some((message, at)) = &mut self.message else { return Ok(None) };
        let (new, rest) = bytes.split_at(bytes.len().min(message.len() - *at));
        message[*at..*at + new.len()].copy_from_slice(new);
        (*at, *bytes) = (*at + new.len(), rest);
        if *at < message.len() {
            return Ok(None);
        }
        self.known = 0;
        Ok(self.message.take().map(|(message, _)| message))
    }

    /// Whether the stream may end here.
    pub fn is_between(&self) -> bool {
        self.known == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn taken(frames: &mut Frames, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut messages = Vec::new();
        while let Some(message) = frames.take(&mut bytes)? {
            messages.push(message.to_vec());
        }
        assert!(bytes.is_empty());
        Ok(messages)
    }

    proptest! {
        #[test]
        fn messages_come_out_whatever_the_pieces(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..10), piece in 1..50_usize,
        ) {
            let framed = |message: &Vec<u8>| [&(message.len() as u32).to_be_bytes()[..], message].concat();
            let stream: Vec<u8> = messages.iter().flat_map(framed).collect();
            let (mut frames, mut out) = (Frames::default(), Vec::new());
            for piece in stream.chunks(piece) {
                out.extend(taken(&mut frames, piece).unwrap());
            }
            prop_assert_eq!(out, messages);
            prop_assert!(frames.is_between());
        }

        #[test]
        fn no_bytes_panic(pieces: Vec<Vec<u8>>) {
            let mut frames = Frames::default();
            for piece in pieces {
                if let Err(TooLarge(len)) = taken(&mut frames, &piece) {
                    prop_assert!(len > LARGEST);
                    break;
                }
            }
        }
    }

    #[test]
    fn the_largest_fits_and_the_next_does_not() {
        let length = |len: usize| (len as u32).to_be_bytes();
        assert_eq!(taken(&mut Frames::default(), &length(LARGEST)), Ok(vec![]));
        assert_eq!(taken(&mut Frames::default(), &length(LARGEST + 1)), Err(TooLarge(LARGEST + 1)));
    }
}
