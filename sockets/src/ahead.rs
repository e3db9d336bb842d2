//! The bytes before a reader, counted without taking one.

use crate::control::Field;
use crate::{Receiver, Side};
use bertha_ring::{Broken, Cursor, Word};

/// The bytes before a reader, in the order of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ahead {
    /// First on the carrier.
    pub before: u64,
    /// Bytes in the ring.
    pub ring: usize,
    /// Bells on the carrier, which are no bytes of the stream.
    pub bells: u64,
    /// On the carrier behind the bells, as the sender has moved back.
    pub behind: u64,
}

impl Ahead {
    /// Returns the number of bytes of the stream.
    pub fn total(&self) -> u64 {
        self.before + self.ring as u64 + self.behind
    }
}

impl Receiver {
    /// Counts the bytes before the reader, those in the ring as far as `most`. The carrier had `unread` bytes before this call.
    ///
    /// # Errors
    /// Fails if the sender claims an impossible place.
    pub fn ahead<W: Word>(&self, side: Side<'_, W>, unread: u64, most: usize) -> Result<Ahead, Broken> {
        let moved = self.word(side, Field::Moved);
        if !self.is_in_ring() && moved == self.moves() {
            return Ok(Ahead { before: unread, ..Ahead::default() });
        }
        let before = if self.is_in_ring() { 0 } else { self.left_before_ring(side)? };
        if unread < before {
            return Ok(Ahead { before: unread, ..Ahead::default() });
        }
        // A sender moves no third time before it is followed.
        let has_left = moved.is_multiple_of(2);
        let ring = self.waiting(side, most);
        if !has_left {
            return Ok(Ahead { before, ring, ..Ahead::default() });
        }
        let back = self.word(side, Field::BackAt);
        let bells = back.checked_sub(self.carrier() + before).ok_or(Broken::Position(back))?;
        let behind = unread.saturating_sub(before).saturating_sub(bells);
        Ok(Ahead { before, ring, bells, behind })
    }

    /// Copies bytes that lie in the ring from a place on, which moves. They stay there. The caller looks at no more than are
    /// [ahead](Self::ahead).
    ///
    /// # Errors
    /// Fails if the sender announces a message that is too long.
    pub fn look<W: Word>(
        &self,
        side: Side<'_, W>,
        from: &mut Cursor,
        into: &mut [u8],
    ) -> Result<usize, Broken> {
        if self.has_bytes(side) { from.copy(side.ring, side.longest as u64, into) } else { Ok(0) }
    }
}
