//! A place in a ring from which its messages are read as a stream of bytes.

use super::{Broken, Ring, Word};
use std::sync::atomic::Ordering;

/// A place in a ring: a message, and the bytes of it that were read. Reading takes nothing from the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// Number of words before the message.
    position: u64,
    /// Number of bytes of the message that were read.
    offset: u64,
}

impl Cursor {
    /// The beginning of a new ring.
    pub const START: Self = Self { position: 0, offset: 0 };

    pub(crate) fn at(position: u64) -> Self {
        Self { position, offset: 0 }
    }

    /// Returns the cursor with these numbers, which a process that is not trusted may have said: what it reads is checked as ever.
    #[inline]
    pub fn new(position: u64, offset: u64) -> Self {
        Self { position, offset }
    }

    /// Returns the number of words before the message.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the number of bytes of the message that were read.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Copies the next bytes, of as many messages as fill `into`, and moves behind them. Returns their number, less than `into` has
    /// only if there are no more. `longest` is the length of the longest message.
    ///
    /// The steps are bounded by the size of the ring, whatever a producer writes meanwhile.
    ///
    /// # Errors
    /// Fails if the producer announces a message that is too long; nothing was copied, and nothing can be read behind it.
    #[inline]
    pub fn copy<W: Word>(
        &mut self,
        ring: Ring<'_, W>,
        longest: u64,
        into: &mut [u8],
    ) -> Result<usize, Broken> {
        let mut copied = 0;
        self.walk(ring, longest, into.len(), |ring, place, offset, bytes| {
            read_from(ring, place, offset, &mut into[copied..copied + bytes]);
            copied += bytes;
        })
    }

    /// Moves behind the next bytes, at most `most`, without reading them. Returns their number.
    ///
    /// # Errors
    /// Fails as [`copy`](Self::copy) does.
    pub fn skip<W: Word>(&mut self, ring: Ring<'_, W>, longest: u64, most: usize) -> Result<usize, Broken> {
        self.walk(ring, longest, most, |_, _, _, _| ())
    }

    #[inline]
    fn walk<W: Word>(
        &mut self,
        ring: Ring<'_, W>,
        longest: u64,
        most: usize,
        mut each: impl FnMut(Ring<'_, W>, u64, u64, usize),
    ) -> Result<usize, Broken> {
        let (mut done, mut words) = (0, 0);
        // The bound on words counts: a producer could announce empty messages for ever.
        while done < most && words < ring.capacity() {
            // The header is read once. Acquire makes the words visible that were written before it.
            let header = ring.at(self.position).load(Ordering::Acquire);
            let Some(len) = header.checked_sub(1) else { break };
            if len > longest {
                if done > 0 {
                    break;
                }
                return Err(Broken::Length(header));
            }
            // The conversions are exact, as a message has fewer bytes than the ring. The producer may have shortened the message.
            let rest = len.saturating_sub(self.offset) as usize;
            let bytes = rest.min(most - done);
            each(ring, self.position + 1, self.offset, bytes);
            done += bytes;
            if bytes < rest {
                self.offset += bytes as u64;
                break;
            }
            let size = 1 + len.div_ceil(8);
            words += size;
            *self = Self::at(self.position.wrapping_add(size));
        }
        Ok(done)
    }
}

/// Reads bytes of the message whose first word is at `place`, from `offset` on.
#[inline]
fn read_from<W: Word>(ring: Ring<'_, W>, place: u64, offset: u64, into: &mut [u8]) {
    // The conversion is exact: a word has eight bytes.
    let within = (offset % 8) as usize;
    let mut place = place.wrapping_add(offset / 8);
    let mut into = into;
    if within != 0 {
        let word = ring.at(place).load(Ordering::Relaxed).to_ne_bytes();
        let (head, rest) = into.split_at_mut(into.len().min(8 - within));
        head.copy_from_slice(&word[within..within + head.len()]);
        (into, place) = (rest, place.wrapping_add(1));
    }
    read(ring, place, into);
}

#[inline]
pub(super) fn read<W: Word>(ring: Ring<'_, W>, position: u64, bytes: &mut [u8]) {
    let (wrapped, words) = ring.from(position);
    let (first, rest) = bytes.split_at_mut(bytes.len().min(8 * words.len()));
    read_words(words, first);
    read_words(wrapped, rest);
}

#[inline]
fn read_words<W: Word>(words: &[W], bytes: &mut [u8]) {
    let (whole, rest) = bytes.as_chunks_mut::<8>();
    for (bytes, word) in whole.iter_mut().zip(words) {
        *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    if let (false, Some(word)) = (rest.is_empty(), words.get(whole.len())) {
        let last = word.load(Ordering::Relaxed).to_ne_bytes();
        let len = rest.len();
        rest.copy_from_slice(&last[..len]);
    }
}
