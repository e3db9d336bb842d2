//! The end that writes messages.

use super::{Broken, Ring, Word};
use std::sync::atomic::Ordering;

/// The sending end of a ring. All of its methods have to be given the same ring.
#[derive(Debug, Default)]
pub struct Producer {
    /// How many words were written.
    position: u64,
    /// How many of them the consumer had given back when it was last looked at.
    released: u64,
    /// The first message that the consumer can't see yet, and its header; those behind it hide behind this one.
    hidden: Option<Hidden>,
}

#[derive(Debug, Clone, Copy)]
struct Hidden {
    position: u64,
    header: u64,
}

impl Producer {
    /// Writes a message behind the others, unless the ring lacks room. The consumer sees it after [`publish`](Self::publish).
    /// `message` is not longer than [`longest`](super::Layout::longest).
    ///
    /// # Errors
    /// If the consumer lies about how far it has come.
    #[inline]
    pub fn push<W: Word>(&mut self, ring: Ring<'_, W>, message: &[u8]) -> Result<bool, Broken> {
        let len = message.len() as u64;
        let words = 1 + len.div_ceil(8);
        // And the zero behind it.
        if !self.has_room(ring, words + 1)? {
            return Ok(false);
        }
        write(ring, self.position + 1, message);
        ring.at(self.position + words).store(0, Ordering::Relaxed);
        let header = len + 1;
        match self.hidden {
            None => self.hidden = Some(Hidden { position: self.position, header }),
            Some(_) => ring.at(self.position).store(header, Ordering::Relaxed),
        }
        self.position += words;
        Ok(true)
    }

    /// Shows the consumer what was written. Whether it has to be woken.
    #[inline]
    #[must_use = "a consumer that sleeps does not see the messages"]
    pub fn publish<W: Word>(&mut self, ring: Ring<'_, W>) -> bool {
        let Some(Hidden { position, header }) = self.hidden.take() else { return false };
        // Release: an end that sees the header sees the payload, and all messages behind this one.
        ring.at(position).store(header, Ordering::Release);
        // Between the header and the look at the sleeper, as on the other side between the sleeper's note and its look
        // at the header: one of the two sees the other's.
        W::fence();
        is_raised(ring.asleep)
    }

    /// Says that the producer waits for room. It then has to push again before it sleeps.
    pub fn await_room<W: Word>(&self, ring: Ring<'_, W>) {
        ring.wants_room.store(1, Ordering::Relaxed);
        W::fence();
    }

    /// Says that nothing more comes.
    pub fn end<W: Word>(ring: Ring<'_, W>) {
        ring.ended.store(1, Ordering::Release);
    }

    #[inline]
    fn has_room<W: Word>(&mut self, ring: Ring<'_, W>, words: u64) -> Result<bool, Broken> {
        // The difference is at most the capacity, as both are checked below.
        if ring.capacity() - (self.position - self.released) >= words {
            return Ok(true);
        }
        // Read once. Acquire: what the consumer has read lies before.
        let released = ring.released.load(Ordering::Acquire);
        if !(self.released..=self.position).contains(&released) {
            return Err(Broken::Position(released));
        }
        self.released = released;
        Ok(ring.capacity() - (self.position - released) >= words)
    }
}

/// Takes a flag of the other end back, and says whether it was there.
#[inline]
pub(super) fn is_raised<W: Word>(flag: &W) -> bool {
    flag.load(Ordering::Relaxed) != 0 && flag.swap(0, Ordering::AcqRel) != 0
}

/// Relaxed, word by word: the release of the header orders them, and a reader that looks earlier sees bytes and nothing else.
#[inline]
fn write<W: Word>(ring: Ring<'_, W>, position: u64, bytes: &[u8]) {
    let (wrapped, words) = ring.from(position);
    let (first, rest) = bytes.split_at(bytes.len().min(8 * words.len()));
    write_words(words, first);
    write_words(wrapped, rest);
}

#[inline]
fn write_words<W: Word>(words: &[W], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (bytes, word) in whole.iter().zip(words) {
        word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
    if let (false, Some(word)) = (rest.is_empty(), words.get(whole.len())) {
        let mut bytes = [0; 8];
        bytes[..rest.len()].copy_from_slice(rest);
        word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
    }
}
