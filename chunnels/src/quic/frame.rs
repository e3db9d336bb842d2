//! Messages on the streams of a connection, each behind its length.

use bertha_core::Buf;
use bertha_core::framing::{Deframer, TooLarge};

/// The largest message, in bytes.
pub const LARGEST: usize = 64 * 1024;

/// A mark in the place of a length at the end of a stream that another stream continues.
pub const CONTINUED: u32 = u32::MAX;

/// Decodes messages from streams that arrive in pieces. It holds one message of at most [`LARGEST`].
#[derive(Debug)]
pub struct Frames {
    deframer: Deframer,
    /// True if the stream ends here, and another stream continues it.
    is_continued: bool,
}

impl Default for Frames {
    fn default() -> Self {
        Self { deframer: Deframer::new(LARGEST), is_continued: false }
    }
}

impl Frames {
    /// Takes the bytes of the next message from `bytes`, and returns the message once it is complete.
    /// Otherwise all bytes were taken.
    ///
    /// # Errors
    /// [`TooLarge`] for a length beyond [`LARGEST`], and for bytes behind the mark of a stream that is continued.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Buf>, TooLarge> {
        match self.deframer.take(bytes) {
            // The mark is no length, so the deframer stays at it.
            Err(TooLarge(length)) if length == CONTINUED as usize && bytes.is_empty() => {
                self.is_continued = true;
                Ok(None)
            }
            taken => taken,
        }
    }

    /// Begins the stream that continues the stream that has ended here. Returns true if such a stream
    /// follows.
    pub fn continue_stream(&mut self) -> bool {
        let is_continued = self.is_continued;
        if is_continued {
            *self = Self::default();
        }
        is_continued
    }

    /// Returns true if the stream ends between two messages, for good.
    pub fn is_between(&self) -> bool {
        self.deframer.is_between()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(frames: &mut Frames, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut messages = Vec::new();
        while let Some(message) = frames.take(&mut bytes)? {
            messages.push(message.to_vec());
        }
        assert!(bytes.is_empty());
        Ok(messages)
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
