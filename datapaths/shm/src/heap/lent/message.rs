//! A message while the daemon writes it.

use super::super::ledger::Chunk;
use super::Lent;
use std::mem;

/// Size of the smallest chunk: a message with a few small fields has one.
const SMALLEST: usize = 256;

/// Size up to which a hint counts, since a stranger may have given it.
const HINTED: usize = 1 << 20;

/// Size up to which chunks double.
const LARGEST: usize = 16 << 20;

/// A message that takes room in a receive heap, in chunks that grow. Dropping an unfinished message makes its room free.
///
/// The rest of a chunk has the bytes of earlier messages of the same application, among them unfinished ones, which the application can
/// read. What an application must never see is not written to its heap.
#[derive(Debug)]
pub struct Message<'a> {
    lent: &'a mut Lent,
    slot: u16,
    /// The rest of the last chunk.
    rest: Chunk,
    /// Size of the next chunk.
    next: usize,
}

impl<'a> Message<'a> {
    pub(super) fn new(lent: &'a mut Lent, slot: u16, hint: usize) -> Self {
        let next = hint.clamp(SMALLEST, HINTED).next_multiple_of(8);
        Self { lent, slot, rest: Chunk { offset: 0, bytes: 0 }, next }
    }

    /// Reserves bytes that are zero, and returns their address in the application, a multiple of eight that is not zero. Returns `None` if
    /// the heap has no room.
    #[inline]
    pub fn reserve(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        self.lent.bytes(taken.offset, taken.bytes).fill(0);
        Some(self.lent.address(taken.offset))
    }

    /// Copies bytes into room of their own, and returns their address in the application. Returns `None` if the heap has no room.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Option<u64> {
        let taken = self.take(bytes.len())?;
        let (copy, padding) = self.lent.bytes(taken.offset, taken.bytes).split_at_mut(bytes.len());
        copy.copy_from_slice(bytes);
        padding.fill(0);
        Some(self.lent.address(taken.offset))
    }

    /// Returns reserved bytes.
    ///
    /// # Panics
    /// Panics if the bytes do not lie in the chunk of a reservation of this message.
    #[inline]
    pub fn bytes(&mut self, at: u64, len: usize) -> &mut [u8] {
        let offset = self.lent.offset(at, len).filter(|offset| self.has(*offset, len));
        let Some(offset) = offset else { panic!("the message has no {len} bytes at {at:#x}") };
        self.lent.bytes(offset, len)
    }

    /// Returns the number of bytes of all chunks, which is the room that the message takes.
    #[inline]
    pub fn room(&self) -> usize {
        self.lent.ledger.chunks(self.slot).iter().map(|chunk| chunk.bytes).sum()
    }

    /// Ends the message, and returns the identifier under which it is [freed](Lent::free).
    pub fn finish(self) -> u32 {
        let id = self.lent.ledger.lend(self.slot);
        // The drop would discard it; nothing else in it needs a drop.
        mem::forget(self);
        id
    }

    /// Returns true if a chunk of this message has the bytes. Their reservation is not looked for: within a message no mistake is worse
    /// than a wrong message.
    #[inline]
    fn has(&self, offset: usize, len: usize) -> bool {
        self.lent.ledger.chunks(self.slot).iter().rev().any(|chunk| chunk.has(offset, len))
    }

    /// Takes bytes of the last chunk, or of a new chunk.
    #[inline]
    fn take(&mut self, bytes: usize) -> Option<Chunk> {
        // Empty reservations have addresses of their own too.
        let bytes = bytes.max(1).checked_next_multiple_of(8)?;
        if bytes > self.rest.bytes {
            self.rest = self.add_chunk(bytes)?;
        }
        let taken = Chunk { offset: self.rest.offset, bytes };
        self.rest = Chunk { offset: taken.offset + bytes, bytes: self.rest.bytes - bytes };
        Some(taken)
    }

    #[cold]
    fn add_chunk(&mut self, bytes: usize) -> Option<Chunk> {
        let mut wanted = self.next.max(bytes);
        loop {
            let made = self.lent.add_chunk(self.slot, wanted);
            if made.is_ok() || wanted == bytes {
                self.next = wanted.saturating_mul(2).min(LARGEST);
                return made.ok();
            }
            // A heap that is almost full, or in pieces, may have room for less.
            wanted = (wanted / 2).next_multiple_of(8).max(bytes);
        }
    }
}

impl Drop for Message<'_> {
    fn drop(&mut self) {
        self.lent.discard(self.slot);
    }
}
