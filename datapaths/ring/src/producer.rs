//! The end that writes messages.

use super::{Broken, Ring, Word};
use std::sync::atomic::Ordering;

/// The sending end of a ring. All of its methods have to get the ring that belongs to it.
#[derive(Debug, Default)]
pub struct Producer {
    /// Number of words that were written.
    position: u64,
    /// Number of words that the consumer had released at the last look.
    released: u64,
    /// The first message that the consumer can't see yet, and its header. Messages behind it hide behind this
    /// message.
    hidden: Option<Hidden>,
}

#[derive(Debug, Clone, Copy)]
struct Hidden {
    position: u64,
    header: u64,
}

impl Producer {
    /// Writes a message behind the previous messages. Returns false if the ring lacks room. The consumer sees
    /// the message after [`publish`](Self::publish). `message` must not be longer than
    /// [`longest`](super::Layout::longest).
    ///
    /// # Errors
    /// Fails if the consumer lies about its progress.
    #[inline]
    pub fn push<W: Word>(&mut self, ring: Ring<'_, W>, message: &[u8]) -> Result<bool, Broken> {
        let len = message.len() as u64;
        let words = 1 + len.div_ceil(8);
        // The extra word is the zero behind the message.
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

    /// Shows the written messages to the consumer. Returns true if the consumer has to be woken.
    #[inline]
    #[must_use = "a consumer that sleeps does not see the messages"]
    pub fn publish<W: Word>(&mut self, ring: Ring<'_, W>) -> bool {
        let Some(Hidden { position, header }) = self.hidden.take() else { return false };
        // Release: an end that sees the header sees the payload, and all messages behind it.
        ring.at(position).store(header, Ordering::Release);
        // The fence lies between the header and the look at the sleeper's flag; the consumer has a fence
        // between its flag and its look at the header. So at least one end sees what the other end wrote.
        W::fence();
        is_raised(ring.asleep)
    }

    /// Returns the bytes of the longest message for which there is room, `most` at most.
    ///
    /// # Errors
    /// Fails if the consumer lies about its progress.
    #[inline]
    pub fn room<W: Word>(&mut self, ring: Ring<'_, W>, most: usize) -> Result<usize, Broken> {
        // A header, and the zero behind the message.
        let words = 2 + (most as u64).div_ceil(8);
        if self.has_room(ring, words)? {
            return Ok(most);
        }
        let free = ring.capacity() - (self.position - self.released);
        // The conversion is exact, as a ring has fewer bytes.
        Ok(8 * free.saturating_sub(2) as usize)
    }

    /// Returns the place behind the last message.
    pub fn cursor(&self) -> super::Cursor {
        super::Cursor::at(self.position)
    }

    /// Announces that the producer waits for room. The producer then has to push again before it sleeps.
    pub fn await_room<W: Word>(&self, ring: Ring<'_, W>) {
        ring.wants_room.store(1, Ordering::Relaxed);
        W::fence();
    }

    /// Returns true if the producer has announced that it waits for room.
    pub fn is_waiting<W: Word>(ring: Ring<'_, W>) -> bool {
        ring.wants_room.load(Ordering::Relaxed) != 0
    }

    /// Returns the number of bytes that the consumer has not released, headers included.
    pub fn filled<W: Word>(&self, ring: Ring<'_, W>) -> u64 {
        let released = ring.released.load(Ordering::Relaxed);
        // The consumer may lie about its progress.
        8 * self.position.saturating_sub(released).min(ring.capacity())
    }

    /// Announces that no more messages come.
    pub fn end<W: Word>(ring: Ring<'_, W>) {
        ring.ended.store(1, Ordering::Release);
    }

    #[inline]
    fn has_room<W: Word>(&mut self, ring: Ring<'_, W>, words: u64) -> Result<bool, Broken> {
        // The difference is at most the capacity, as both numbers are checked below.
        if ring.capacity() - (self.position - self.released) >= words {
            return Ok(true);
        }
        // The number is read once. Acquire: what the consumer has read lies before.
        let released = ring.released.load(Ordering::Acquire);
        if !(self.released..=self.position).contains(&released) {
            return Err(Broken::Position(released));
        }
        self.released = released;
        Ok(ring.capacity() - (self.position - released) >= words)
    }
}

/// Takes a flag of the other end back. Returns true if it was set.
#[inline]
pub(super) fn is_raised<W: Word>(flag: &W) -> bool {
    flag.load(Ordering::Relaxed) != 0 && flag.swap(0, Ordering::AcqRel) != 0
}

/// Writes bytes, word by word. Relaxed stores suffice: the release of the header orders them, and a reader
/// that looks earlier sees arbitrary bytes, which is harmless.
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
