//! The receive heap of an application, as the daemon writes it.
#![allow(unsafe_code)]

mod message;

use super::arena::Arena;
use super::layout::Base;
use super::ledger::{Chunk, Ledger};
use super::slab::Growth;
use super::{Full, Region};
pub use message::Message;
use rustix::mm::ProtFlags;
use std::{io, mem, slice};

/// The heap in which a daemon lends messages to an application, which can only read them.
///
/// A message is written through a [`Message`], and lent under an identifier; the application gives the identifier back when it has read the
/// message. Identifiers come from a hostile process: a wrong one changes nothing.
#[derive(Debug)]
pub struct Lent {
    /// The address of the heap in the application.
    base: Base,
    arena: Arena,
    ledger: Ledger,
    /// The regions that the application does not know yet.
    new: Vec<Region>,
}

impl Lent {
    /// Creates a heap that begins at this address of the application, and grows to at most `quota` bytes.
    ///
    /// # Errors
    /// Fails if no heap can begin there, or with the errors of the system.
    pub fn new(base: u64, quota: usize) -> io::Result<Self> {
        let base = Base::new(base).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { base, arena: Arena::new(quota)?, ledger: Ledger::default(), new: Vec::new() })
    }

    /// Returns the number of bytes of the regions.
    pub fn granted(&self) -> usize {
        self.arena.granted()
    }

    /// Begins a message of about so many bytes. Returns `None` if the application has too many messages, 65,536.
    pub fn begin(&mut self, hint: usize) -> Option<Message<'_>> {
        let slot = self.ledger.open()?;
        Some(Message::new(self, slot, hint))
    }

    /// Returns the regions that were added since the last call, in their order. The application has to map them before it hears of the next
    /// message.
    pub fn take_new_regions(&mut self) -> Vec<Region> {
        mem::take(&mut self.new)
    }

    /// Takes a message back, and makes its memory free. Returns false, and changes nothing, if no message of this identifier is lent. An
    /// identifier comes round after 65,536 messages.
    pub fn free(&mut self, id: u32) -> bool {
        let slot = self.ledger.take_back(id);
        slot.map(|slot| self.discard(slot)).is_some()
    }

    /// Makes the memory and the slot of a message free.
    pub(super) fn discard(&mut self, slot: u16) {
        for chunk in self.ledger.chunks(slot) {
            self.arena.free(chunk.offset, chunk.bytes);
        }
        self.ledger.close(slot);
    }

    /// Gives a chunk to a message.
    pub(super) fn add_chunk(&mut self, slot: u16, bytes: usize) -> Result<Chunk, Full> {
        if !self.ledger.has_room(slot) {
            return Err(Full);
        }
        let new = &mut self.new;
        let taken = self.arena.allocate(bytes, Growth::Doubled, |span, wanted| {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            new.push(Region::read_only(wanted, |file| span.map(file, wanted, access))?);
            Ok(())
        });
        let offset = taken.map_err(|error| Full::because(&error))?;
        let chunk = Chunk { offset, bytes };
        self.ledger.add(slot, chunk);
        Ok(chunk)
    }

    /// Returns the address of the byte with this offset in the application.
    #[inline]
    pub(super) fn address(&self, offset: usize) -> u64 {
        self.base.address(offset).get()
    }

    /// Returns the offset of these bytes, if they are mapped.
    #[inline]
    pub(super) fn offset(&self, address: u64, len: usize) -> Option<usize> {
        self.base.offset(address, len, self.arena.granted())
    }

    /// Returns bytes of the heap.
    ///
    /// # Panics
    /// Panics unless all of them are mapped.
    #[inline]
    pub(super) fn bytes(&mut self, offset: usize, len: usize) -> &mut [u8] {
        let mapped = self.arena.granted();
        assert!(offset <= mapped && len <= mapped - offset, "the bytes lie outside of the heap");
        let start = self.arena.span().start().wrapping_add(offset);
        // SAFETY: the bytes are mapped for writing while the span lives, and backed by pages of files that can't shrink. They change
        // through this reference alone: this mapping is the only one that can write, since each file was sealed against others before
        // another process got it, and `&mut self` borrows the mapping. Processes that read meanwhile change nothing, and their reads are
        // no accesses of this program; what they see is their own matter.
        unsafe { slice::from_raw_parts_mut(start, len) }
    }
}
