//! The chunks of messages that are lent to an application.

/// Maximum number of messages that an application has at once.
const MOST: usize = 1 << 16;

/// Maximum number of chunks of a message: each is looked at where bytes are, and an application that keeps its heap in pieces chooses how
/// many there are.
const CHUNKS: usize = 1024;

/// Number of chunks for which a free slot keeps room.
const KEPT: usize = 8;

/// A block in which a message has reservations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub(super) offset: usize,
    pub(super) bytes: usize,
}

impl Chunk {
    pub(super) fn has(&self, offset: usize, len: usize) -> bool {
        offset >= self.offset
            && offset - self.offset <= self.bytes
            && len <= self.bytes - (offset - self.offset)
    }
}

/// The messages that are written or lent, each in a slot. Slots are used again, under another identifier.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    slots: Vec<Slot>,
    free: Vec<u16>,
}

#[derive(Debug, Default)]
struct Slot {
    /// Number of messages that had this slot, as far as it fits. A stale identifier is mistaken for a new one after 65,536 of them, which
    /// costs no other application anything.
    generation: u16,
    is_lent: bool,
    chunks: Vec<Chunk>,
}

impl Ledger {
    /// Returns a slot for a new message, or `None` if there are too many messages.
    pub(super) fn open(&mut self) -> Option<u16> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let slot = u16::try_from(self.slots.len()).ok()?;
        debug_assert!(self.slots.len() < MOST, "a slot has a number of 16 bits");
        self.slots.push(Slot::default());
        Some(slot)
    }

    /// Returns the chunks of a message.
    #[inline]
    pub(super) fn chunks(&self, slot: u16) -> &[Chunk] {
        &self.slots[usize::from(slot)].chunks
    }

    /// Returns true if a message may have another chunk.
    pub(super) fn has_room(&self, slot: u16) -> bool {
        self.chunks(slot).len() < CHUNKS
    }

    /// Gives a chunk to a message.
    pub(super) fn add(&mut self, slot: u16, chunk: Chunk) {
        self.slots[usize::from(slot)].chunks.push(chunk);
    }

    /// Lends a message, and returns its identifier.
    pub(super) fn lend(&mut self, slot: u16) -> u32 {
        let lent = &mut self.slots[usize::from(slot)];
        lent.is_lent = true;
        u32::from(lent.generation) << 16 | u32::from(slot)
    }

    /// Takes a message back. Returns its slot, or `None` if no message of this identifier is lent.
    pub(super) fn take_back(&mut self, id: u32) -> Option<u16> {
        let (generation, slot) = ((id >> 16) as u16, id as u16);
        let lent = self.slots.get_mut(usize::from(slot))?;
        if !lent.is_lent || lent.generation != generation {
            return None;
        }
        lent.is_lent = false;
        Some(slot)
    }

    /// Makes the slot of a message free. A short list of chunks keeps its room for the next message.
    pub(super) fn close(&mut self, slot: u16) {
        let closed = &mut self.slots[usize::from(slot)];
        closed.generation = closed.generation.wrapping_add(1);
        closed.chunks.clear();
        closed.chunks.shrink_to(KEPT);
        self.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_taken_once() {
        let mut ledger = Ledger::default();
        let slots = [ledger.open().unwrap(), ledger.open().unwrap()];
        assert_eq!(ledger.take_back(0), None, "a message that is not lent yet");
        let ids = slots.map(|slot| ledger.lend(slot));
        assert_ne!(ids[0], ids[1]);
        assert_eq!(ledger.take_back(ids[0]), Some(slots[0]));
        assert_eq!(ledger.take_back(ids[0]), None);
        ledger.close(slots[0]);
        assert_eq!(ledger.open(), Some(slots[0]));
        let again = ledger.lend(slots[0]);
        assert_ne!(again, ids[0]);
        for unknown in [ids[0], 2, u32::MAX, 0xffff] {
            assert_eq!(ledger.take_back(unknown), None, "{unknown:#x}");
        }
        assert_eq!((ledger.take_back(again), ledger.take_back(ids[1])), (Some(slots[0]), Some(slots[1])));
    }

    #[test]
    fn the_number_of_messages_is_bounded() {
        let mut ledger = Ledger::default();
        assert_eq!(std::iter::from_fn(|| ledger.open()).count(), MOST);
        ledger.close(7);
        assert_eq!((ledger.open(), ledger.open()), (Some(7), None));
    }

    #[test]
    fn a_message_has_no_more_chunks_than_it_may_and_its_slot_keeps_few() {
        let mut ledger = Ledger::default();
        let slot = ledger.open().unwrap();
        for offset in 0..CHUNKS {
            assert!(ledger.has_room(slot));
            ledger.add(slot, Chunk { offset, bytes: 1 });
        }
        assert!(!ledger.has_room(slot));
        ledger.close(slot);
        assert!(ledger.slots[0].chunks.capacity() <= KEPT && ledger.has_room(slot));
    }

    #[test]
    fn a_chunk_has_its_bytes_and_no_others() {
        let chunk = Chunk { offset: 64, bytes: 32 };
        for (offset, len, has) in
            [(64, 32, true), (80, 16, true), (96, 0, true), (63, 1, false), (80, 17, false), (97, 0, false)]
        {
            assert_eq!(chunk.has(offset, len), has, "{offset}, {len}");
        }
        assert!(!chunk.has(65, usize::MAX));
    }
}
