//! Messages on a stream of bytes, each behind its length.

use bertha_core::Buf;

/// The bytes of a length, big-endian.
pub const LENGTH: usize = 4;

/// The largest message, in bytes.
pub const LARGEST: usize = 64 * 1024;

/// Stands in the place of a length at the end of a stream that another stream continues.
pub const CONTINUED: u32 = u32::MAX;

/// Decodes messages from a stream that arrives in pieces. Holds one message of the length that the peer announced, at most
/// [`LARGEST`].
#[derive(Debug, Default)]
pub struct Frames {
    length: [u8; LENGTH],
    /// The number of bytes of the length that have arrived.
    known: usize,
    message: Option<Partial>,
    /// Whether the stream ends here, and another continues it.
    is_continued: bool,
}

/// A message whose length is known.
#[derive(Debug)]
struct Partial {
    message: Buf,
    /// The number of bytes of the message that have arrived.
    filled: usize,
}

/// A length that no peer sends, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge(pub usize);

impl Frames {
    /// Takes the bytes of the next message from `bytes`, and returns it once it is complete. Otherwise all bytes were taken.
    ///
    /// # Errors
    /// [`TooLarge`] for a length beyond [`LARGEST`], and for bytes behind the mark of a stream that is continued.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Buf>, TooLarge> {
        if self.is_continued {
            return if bytes.is_empty() { Ok(None) } else { Err(TooLarge(CONTINUED as usize)) };
        }
        if self.message.is_none() {
            let (new, rest) = bytes.split_at(bytes.len().min(LENGTH - self.known));
            self.length[self.known..self.known + new.len()].copy_from_slice(new);
            (self.known, *bytes) = (self.known + new.len(), rest);
            if self.known < LENGTH {
                return Ok(None);
            }
            let length = u32::from_be_bytes(self.length);
            if length == CONTINUED {
                self.is_continued = true;
                return self.take(bytes);
            }
            let len = length as usize;
            let message = Some(len).filter(|len| *len <= LARGEST).and_then(|len| Buf::new(len, 0).ok());
            self.message = Some(Partial { message: message.ok_or(TooLarge(len))?, filled: 0 });
        }
        let Some(Partial { message, filled }) = &mut self.message else { return Ok(None) };
        let (new, rest) = bytes.split_at(bytes.len().min(message.len() - *filled));
        message[*filled..*filled + new.len()].copy_from_slice(new);
        (*filled, *bytes) = (*filled + new.len(), rest);
        if *filled < message.len() {
            return Ok(None);
        }
        self.known = 0;
        Ok(self.message.take().map(|partial| partial.message))
    }

    /// Begins the stream that continues the one that has ended here. Returns whether there is one.
    pub fn continue_stream(&mut self) -> bool {
        let is_continued = self.is_continued;
        if is_continued {
            *self = Self::default();
        }
        is_continued
    }

    /// Whether the stream ends between two messages, for good.
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
    fn nothing_stands_behind_the_mark_of_a_continued_stream() {
        let mut frames = Frames::default();
        assert_eq!(taken(&mut frames, &[0, 0, 0, 1, 7, 0xff, 0xff, 0xff]), Ok(vec![vec![7]]));
        assert!(!frames.is_between() && !frames.continue_stream());
        assert_eq!(taken(&mut frames, &[0xff]), Ok(vec![]));
        assert!(!frames.is_between());
        assert!(taken(&mut frames, &[0]).is_err());
        assert!(frames.continue_stream() && frames.is_between() && !frames.continue_stream());
        assert_eq!(taken(&mut frames, &[0, 0, 0, 0]), Ok(vec![vec![]]));
    }

    #[test]
    fn the_largest_fits_and_the_next_does_not() {
        let length = |len: usize| (len as u32).to_be_bytes();
        assert_eq!(taken(&mut Frames::default(), &length(LARGEST)), Ok(vec![]));
        assert_eq!(taken(&mut Frames::default(), &length(LARGEST + 1)), Err(TooLarge(LARGEST + 1)));
    }
}
