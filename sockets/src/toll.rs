//! The toll: a connection pays for its ring once it has carried enough.

use std::sync::atomic::{AtomicU64, Ordering};

/// The messages after which a connection pays. A connection that carries one request must not wait for a directory.
pub const MESSAGES: u64 = 32;

/// The bytes after which a connection pays.
pub const BYTES: u64 = 64 << 10;

/// The bits for bytes; messages have the others.
const SHIFT: u32 = 48;

/// The count of what a connection has carried.
#[derive(Debug, Default)]
pub struct Toll(AtomicU64);

impl Toll {
    /// Counts a message, sent or received. Returns true if the connection pays now, and every time that as much more was carried.
    #[inline]
    pub fn pays(&self, bytes: usize) -> bool {
        // A message has less than 2^47 bytes, as memory has.
        let more = (1 << SHIFT) + bytes as u64;
        let carried = self.0.fetch_add(more, Ordering::Relaxed) + more;
        let pays = carried >> SHIFT >= MESSAGES || carried & ((1 << SHIFT) - 1) >= BYTES;
        if pays {
            self.clear();
        }
        pays
    }

    /// Begins anew.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}
