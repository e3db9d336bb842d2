//! The words beside the ring of a direction, which tell where the stream is.

use bertha_ring::{Layout, Word};
use std::sync::atomic::Ordering;

/// The first word of the receiver.
const RECEIVER: usize = Layout::APART;

/// A word that one end writes and the other end reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The sender: the number of moves, odd while the stream is in the ring. Written after the places of the move.
    Moved = 0,
    /// The sender: the bytes of the carrier before the stream moved into the ring.
    RingAt = 1,
    /// The sender: the bytes of the carrier, bells included, before the stream moved back.
    BackAt = 2,
    /// The sender: the bytes that went through the ring before the stream moved back.
    RingEnd = 3,
    /// The sender: the bytes of the carrier up to the last bell. Written before the bell is sent.
    Rung = 4,
    /// The sender: one if the stream moves into the ring no more.
    Barred = 5,
    /// The sender: [`CLOSED`] or [`RESET`] once its process has closed the socket.
    Ended = 6,
    /// The sender: [why](crate::Why) its process had a direction go back first, or zero.
    Why = 7,
    /// The receiver: one once it reads the ring.
    Attached = RECEIVER as isize,
    /// The receiver: the number of moves that it has followed back.
    Seen = RECEIVER as isize + 1,
    /// Both: [`ASKED`] if the receiver asks for the stream back, and [`ANSWERED`] once the sender gives it. The receiver takes bytes of the
    /// ring only while the word is zero, so a sender that does not answer loses nothing.
    Recall = RECEIVER as isize + 2,
    /// The receiver: the place in the ring up to which it has read: a word, ..
    RecallPosition = RECEIVER as isize + 3,
    /// .. a byte of the message there, ..
    RecallOffset = RECEIVER as isize + 4,
    /// .. and the bytes in all.
    RecallTaken = RECEIVER as isize + 5,
    /// The receiver: one once its process has closed the socket.
    Gone = RECEIVER as isize + 6,
}

/// The receiver asks for the stream back.
pub const ASKED: u64 = 1;

/// The sender sends what lies in the ring again, on the carrier.
pub const ANSWERED: u64 = 2;

/// The sender closed the socket in order.
pub const CLOSED: u64 = 1;

/// The sender closed the socket with bytes unread, as TCP tells by a reset.
pub const RESET: u64 = 2;

/// The words of a direction.
#[derive(Debug)]
pub struct Control<'a, W>(pub(crate) &'a [W]);

impl<W> Clone for Control<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Control<'_, W> {}

impl<W: Word> Control<'_, W> {
    /// Reads a word, and makes visible what was written before it.
    #[inline]
    pub fn get(self, field: Field) -> u64 {
        self.0[field as usize].load(Ordering::Acquire)
    }

    /// Writes a word behind everything that was written before.
    #[inline]
    pub fn set(self, field: Field, value: u64) {
        self.0[field as usize].store(value, Ordering::Release);
    }

    /// Writes a word that both ends write, and returns what it was.
    pub fn swap(self, field: Field, value: u64) -> u64 {
        self.0[field as usize].swap(value, Ordering::AcqRel)
    }
}
