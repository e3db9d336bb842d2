//! The memory of what an edge-triggered waiter has been told.

use crate::Side;
use crate::receiver::Receiver;
use bertha_ring::{Cursor, Word};

/// The place in the ring up to which a waiter knows of bytes. A waiter that is triggered by edges hears of bytes behind it alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edge {
    told: Cursor,
}

impl Edge {
    /// A waiter that has been told nothing.
    pub const NONE: Self = Self { told: Cursor::START };

    /// Returns true if there are bytes in the ring of which the waiter has not been told, and counts them as told.
    pub fn is_new<W: Word>(&mut self, side: Side<'_, W>, receiver: &Receiver) -> bool {
        let read = receiver.cursor();
        if self.told.position() < read.position() {
            self.told = Cursor::new(read.position(), 0);
        }
        let before = self.told;
        // A sender that breaks the rules makes the waiter read, which then fails.
        self.told.skip(side.ring, side.longest as u64, usize::MAX).is_err() || self.told != before
    }
}
