//! The end of a direction that writes.

use crate::Side;
use crate::control::{ANSWERED, ASKED, Field};
use bertha_ring::{Broken, Cursor, Producer, Word};

/// The result of writing into the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// The bytes for which there was room.
    pub bytes: usize,
    /// True if the receiver sleeps: a [bell](Sender::ring) has to be sent.
    pub wakes: bool,
}

/// The state of the end that writes. All of its methods have to get the side that belongs to it.
#[derive(Debug)]
pub struct Sender {
    producer: Producer,
    moves: u64,
    /// The bytes of the carrier, bells included.
    carrier: u64,
    /// The bytes that went into the ring.
    ring: u64,
    /// The bytes at which the stream last moved into the ring.
    entered: u64,
    /// The number of writes on the carrier that have not returned.
    writing: u32,
    barred: bool,
    /// The bytes of the ring that have to be sent on the carrier, and where they are.
    owed: u64,
    from: Cursor,
}

impl Sender {
    /// Creates the state of a sender that has written `carrier` bytes to the socket.
    pub fn new(carrier: u64) -> Self {
        Self {
            producer: Producer::default(),
            moves: 0,
            carrier,
            ring: 0,
            entered: 0,
            writing: 0,
            barred: false,
            owed: 0,
            from: Cursor::default(),
        }
    }

    /// Returns true if the stream is in the ring.
    #[inline]
    pub fn is_in_ring(&self) -> bool {
        self.moves % 2 == 1
    }

    /// Returns the number of moves.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Returns true if the stream moves into the ring no more.
    pub fn is_barred(&self) -> bool {
        self.barred
    }

    /// Moves the stream into the ring, if it may: the receiver reads the ring and has followed every earlier move, no other write is
    /// under way, and nothing is owed. Returns true if the stream is in the ring.
    #[inline]
    pub fn enter<W: Word>(&mut self, side: Side<'_, W>) -> bool {
        if self.is_in_ring() {
            return true;
        }
        let control = side.control;
        let is_free = !self.barred && self.writing == 0 && self.owed == 0;
        let is_awaited = is_free
            && control.get(Field::Attached) == 1
            && control.get(Field::Seen) == self.moves
            && control.get(Field::Recall) == 0
            && control.get(Field::Gone) == 0;
        if is_awaited {
            control.set(Field::RingAt, self.carrier);
            control.set(Field::Rung, self.carrier);
            self.entered = self.ring;
            self.moves += 1;
            control.set(Field::Moved, self.moves);
        }
        is_awaited
    }

    /// Writes bytes into the ring, as far as there is room; none if the receiver is gone. The caller then asks whether the receiver
    /// [asks](Self::is_recalled) for the stream back, as nobody else gives it these bytes.
    ///
    /// # Errors
    /// Fails if the receiver lies about its progress.
    #[inline]
    pub fn push<W: Word>(&mut self, side: Side<'_, W>, mut bytes: &[u8]) -> Result<Pushed, Broken> {
        let mut pushed = 0;
        while !bytes.is_empty() {
            let room = self.producer.room(side.ring, bytes.len().min(side.longest))?;
            let (now, later) = bytes.split_at(room);
            if room == 0 || !self.producer.push(side.ring, now)? {
                break;
            }
            pushed += room;
            bytes = later;
        }
        self.ring += pushed as u64;
        Ok(Pushed { bytes: pushed, wakes: self.producer.publish(side.ring) })
    }

    /// Counts a bell, which has to be sent now. [`unrung`](Self::unrung) takes it back if it could not be sent. Returns false, and
    /// counts none, if the receiver asks for the stream back: it may look for bells no more.
    #[inline]
    #[must_use = "a bell that is not counted must not be sent"]
    pub fn ring<W: Word>(&mut self, side: Side<'_, W>) -> bool {
        // Before the bell, so that a receiver that has the byte knows what it is.
        self.carrier += 1;
        side.control.set(Field::Rung, self.carrier);
        W::fence();
        let is_awaited = !self.is_recalled(side);
        if !is_awaited {
            self.unrung(side);
        }
        is_awaited
    }

    /// Takes back a bell that the kernel did not take.
    pub fn unrung<W: Word>(&mut self, side: Side<'_, W>) {
        self.carrier -= 1;
        side.control.set(Field::Rung, self.carrier);
    }

    /// Moves the stream back to the carrier. The bytes in the ring stay there for the receiver.
    pub fn leave<W: Word>(&mut self, side: Side<'_, W>) {
        if self.is_in_ring() {
            self.leave_at(side, self.ring);
        }
    }

    fn leave_at<W: Word>(&mut self, side: Side<'_, W>, ring_end: u64) {
        side.control.set(Field::BackAt, self.carrier);
        side.control.set(Field::RingEnd, ring_end);
        self.moves += 1;
        side.control.set(Field::Moved, self.moves);
    }

    /// Leaves the ring for ever.
    pub fn bar<W: Word>(&mut self, side: Side<'_, W>) {
        self.leave(side);
        self.barred = true;
        side.control.set(Field::Barred, 1);
    }

    /// Returns true if the receiver asks for the stream back, and has no answer yet.
    #[inline]
    pub fn is_recalled<W: Word>(&self, side: Side<'_, W>) -> bool {
        !self.barred && side.control.get(Field::Recall) != 0
    }

    /// Gives the stream back to a receiver that asks for it: leaves the ring for ever at the byte up to which the receiver has read.
    /// Whatever lies behind is [owed](Self::owed), to be sent on the carrier before anything else. A receiver that takes bytes just now
    /// reads the ring to its end instead.
    pub fn yield_back<W: Word>(&mut self, side: Side<'_, W>) {
        let control = side.control;
        if self.is_in_ring() && control.swap(Field::Recall, ANSWERED) == ASKED {
            // Each word is read once. A receiver that lies gets wrong bytes, and no more than went into the ring since.
            let first = self.entered.max(self.ring.saturating_sub(side.bytes));
            let taken = control.get(Field::RecallTaken).clamp(first, self.ring);
            self.from = Cursor::new(control.get(Field::RecallPosition), control.get(Field::RecallOffset));
            self.owed = self.ring - taken;
            self.leave_at(side, taken);
        }
        self.bar(side);
    }

    /// Returns the number of bytes that have to be sent on the carrier before any other.
    #[inline]
    pub fn owed(&self) -> u64 {
        self.owed
    }

    /// Copies owed bytes. Returns their number, which is less than `into` has room for, and less than what is owed, only if the
    /// receiver has lied.
    pub fn copy_owed<W: Word>(&self, side: Side<'_, W>, into: &mut [u8]) -> usize {
        // The conversion is exact, as the minimum is a length.
        let most = self.owed.min(into.len() as u64) as usize;
        self.from.clone().copy(side.ring, side.longest as u64, &mut into[..most]).unwrap_or(0)
    }

    /// Counts owed bytes that were sent on the carrier.
    pub fn repaid<W: Word>(&mut self, side: Side<'_, W>, bytes: usize) {
        let skipped = self.from.skip(side.ring, side.longest as u64, bytes).unwrap_or(0);
        debug_assert!(skipped <= bytes);
        self.owed = self.owed.saturating_sub(bytes as u64);
        self.carrier += bytes as u64;
    }

    /// Forgets what is owed, since the receiver has lied about it.
    pub fn forget_owed(&mut self) {
        self.owed = 0;
    }

    /// Begins a write on the carrier, which keeps the stream there until it [ends](Self::wrote).
    #[inline]
    pub fn begin(&mut self) {
        self.writing += 1;
    }

    /// Ends a write of this many bytes on the carrier.
    #[inline]
    pub fn wrote(&mut self, bytes: usize) {
        self.writing -= 1;
        self.carrier += bytes as u64;
    }

    /// Returns the number of bytes in the ring that the receiver has not released.
    pub fn unread<W: Word>(&self, side: Side<'_, W>) -> u64 {
        self.producer.filled(side.ring)
    }
}
