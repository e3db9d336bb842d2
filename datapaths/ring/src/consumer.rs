//! The end that reads messages.

use super::cursor::read;
use super::producer::is_raised;
use super::{Broken, Cursor, Ring, Word};
use bertha_core::Buf;
use std::sync::atomic::Ordering;

/// The receiving end of a ring. All of its methods have to get the ring that belongs to it.
#[derive(Debug)]
pub struct Consumer {
    /// Number of words that were read.
    position: u64,
    /// Number of read words that the producer knows to be free.
    released: u64,
    /// Length of the longest message in bytes.
    longest: u64,
}

impl Consumer {
    /// Creates the consumer at the beginning of an empty ring, for messages of at most `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Self { position: 0, released: 0, longest: longest as u64 }
    }

    /// Copies the next message out of the ring, if there is one.
    ///
    /// # Errors
    /// Fails if the producer announces a message that is too long. Nothing can be read behind such a message.
    #[inline]
    pub fn pop<W: Word>(&mut self, ring: Ring<'_, W>) -> Result<Option<Buf>, Broken> {
        // The header is read once. Acquire makes the words visible that were written before it.
        let header = ring.at(self.position).load(Ordering::Acquire);
        let Some(len) = header.checked_sub(1) else { return Ok(None) };
        // A buffer of this length exists, as rings are smaller than the largest buffer.
        let buffer = if len <= self.longest { Buf::new(len as usize, 0).ok() } else { None };
        let Some(mut message) = buffer else { return Err(Broken::Length(header)) };
        read(ring, self.position + 1, &mut message);
        self.position += 1 + len.div_ceil(8);
        Ok(Some(message))
    }

    /// Returns the place of the next message, from which [`Cursor::copy`] reads bytes as of a stream.
    #[inline]
    pub fn cursor(&self) -> Cursor {
        Cursor::at(self.position)
    }

    /// Takes the messages before the cursor, which [`release`](Self::release) then gives back to the producer. A cursor of another ring
    /// changes nothing.
    #[inline]
    pub fn take_until<W: Word>(&mut self, ring: Ring<'_, W>, cursor: Cursor) {
        if cursor.position().wrapping_sub(self.released) <= ring.capacity()
            && cursor.position() >= self.position
        {
            self.position = cursor.position();
        }
    }

    /// Returns the length of the longest message.
    #[inline]
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// Returns true if there is a message.
    #[inline]
    pub fn has_message<W: Word>(&self, ring: Ring<'_, W>) -> bool {
        ring.at(self.position).load(Ordering::Relaxed) != 0
    }

    /// Returns the number of messages that wait, at most `most`, and of their bytes, headers included. The
    /// messages behind a header that breaks the rules are not counted.
    pub fn waiting<W: Word>(&self, ring: Ring<'_, W>, most: u64) -> (u64, u64) {
        let (mut messages, mut words) = (0, 0);
        while messages < most
            && words < ring.capacity()
            && let Some(len) = ring.at(self.position + words).load(Ordering::Acquire).checked_sub(1)
            && len <= self.longest
        {
            messages += 1;
            words += 1 + len.div_ceil(8);
        }
        (messages, 8 * words)
    }

    /// Returns true if the consumer has announced that it sleeps.
    pub fn is_asleep<W: Word>(ring: Ring<'_, W>) -> bool {
        ring.asleep.load(Ordering::Relaxed) != 0
    }

    /// Releases the words that were read, once they are an eighth of the ring; with `at_once`, any number of
    /// words. Returns true if the producer has to be woken.
    ///
    /// Otherwise an end that reads without a pause would take a cache line away from the producer with each
    /// message. Since a message is at most an eighth of the ring, a producer finds room for a message
    /// whenever at least a quarter is free.
    #[inline]
    #[must_use = "a producer that waits for room does not go on"]
    pub fn release<W: Word>(&mut self, ring: Ring<'_, W>, at_once: bool) -> bool {
        let due = self.position - self.released;
        if due == 0 || !at_once && due < ring.capacity() / 8 {
            return false;
        }
        self.released = self.position;
        // Release: the words were read before the producer writes them again.
        ring.released.store(self.position, Ordering::Release);
        W::fence();
        is_raised(ring.wants_room)
    }

    /// Announces that the consumer sleeps. The consumer then has to look for a message once more before it
    /// does.
    ///
    /// The producer takes the flag back, even if there is a message: another task of this end may sleep by
    /// it.
    pub fn fall_asleep<W: Word>(ring: Ring<'_, W>) {
        ring.asleep.store(1, Ordering::Relaxed);
        W::fence();
    }

    /// Returns true if the producer has announced that no more messages come.
    #[inline]
    pub fn is_ended<W: Word>(ring: Ring<'_, W>) -> bool {
        ring.ended.load(Ordering::Acquire) != 0
    }
}
