//! The way back to the carrier that needs no answer of the sender.

use crate::control::Field;
use crate::receiver::Severed;
use crate::{Receiver, Side};
use bertha_ring::{Broken, Word};

/// The times that a sender may write while the receiver claims what lies in the ring. An honest one that sees the question writes no more.
const ROUNDS: u32 = 8;

impl Receiver {
    /// Reads a word of the sender.
    #[inline]
    pub(crate) fn word<W: Word>(&self, side: Side<'_, W>, field: Field) -> u64 {
        match (&self.severed, field) {
            (None, _) => side.control.get(field),
            (Some(severed), Field::Moved) => severed.moved,
            (Some(severed), Field::RingAt) => severed.ring_at,
            (Some(severed), Field::RingEnd) => severed.ring_end,
            (Some(severed), _) => severed.back_at,
        }
    }

    /// Returns the bytes that may be read of so many, since the sender sends others again.
    #[inline]
    pub(crate) fn claimed_among(&self, bytes: usize) -> usize {
        match self.claimed.checked_sub(self.ring) {
            // The conversion is exact, as the minimum is a length.
            Some(left @ 1..) => left.min(bytes as u64) as usize,
            _ => bytes,
        }
    }

    /// Takes the stream back, with or without an answer of the sender: it goes on with the bytes that lie in the ring now, which the
    /// receiver claims, and then with the carrier. From then on, nothing that the sender writes into the memory is looked at, except the
    /// claimed bytes, which an honest sender leaves alone: a copy of the memory does as well. The carrier has `unread` bytes, and no more
    /// come if it `is_over`.
    ///
    /// Returns false if the sender moves just now, or a bell is on its way: then the caller tries again soon.
    ///
    /// # Errors
    /// Fails if the sender claims an impossible place.
    pub fn sever<W: Word>(&mut self, side: Side<'_, W>, unread: u64, is_over: bool) -> Result<bool, Broken> {
        if self.severed.is_some() {
            return Ok(true);
        }
        // A sender that is asked does not move into the ring again.
        self.recall(side);
        let moved = side.control.get(Field::Moved);
        let severed = if moved.is_multiple_of(2) {
            let word = |field| side.control.get(field);
            let (ring_at, ring_end, back_at) =
                (word(Field::RingAt), word(Field::RingEnd), word(Field::BackAt));
            self.claimed = ring_end;
            Severed { moved, ring_at, ring_end, back_at }
        } else {
            if !self.claim(side)? {
                return Ok(false);
            }
            let before = if self.is_in_ring() { 0 } else { self.left_before_ring(side)? };
            // As the sender is asked, it counts no bell any more that it sends.
            let rung = side.control.get(Field::Rung);
            let first = self.carrier() + before;
            let (bells, here) = (rung.saturating_sub(first), unread.saturating_sub(before));
            let back_at = match here >= bells {
                true => first + bells,
                // One that has died may have counted a bell that it did not send.
                false if is_over => first + here,
                false => return Ok(false),
            };
            let ring_at = side.control.get(Field::RingAt);
            if side.control.get(Field::Moved) != moved {
                return Ok(false);
            }
            Severed { moved: moved.wrapping_add(1), ring_at, ring_end: self.claimed, back_at }
        };
        self.severed = Some(severed);
        Ok(true)
    }

    /// Claims what lies in the ring: the sender sends again what it writes behind it. Returns false if it has answered already.
    fn claim<W: Word>(&mut self, side: Side<'_, W>) -> Result<bool, Broken> {
        let (mut end, mut bytes) = (self.cursor, self.ring);
        for _ in 0..ROUNDS {
            if !self.withdraw(side) {
                return Ok(false);
            }
            bytes += end.skip(side.ring, side.longest as u64, usize::MAX)? as u64;
            self.claimed = bytes;
            self.ask(side, end, bytes);
            // The sender has seen the question, or what it has written is seen here.
            if end.clone().skip(side.ring, side.longest as u64, 1)? == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
