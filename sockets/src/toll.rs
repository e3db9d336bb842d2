//! When a connection pays for its ring.

/// The messages after which a connection pays. A connection that carries one request must not wait for a directory.
pub const MESSAGES: u32 = 32;

/// The bytes after which a connection pays.
pub const BYTES: u64 = 64 << 10;

/// What a connection has carried.
#[derive(Debug, Clone, Copy, Default)]
pub struct Toll {
    messages: u32,
    bytes: u64,
}

impl Toll {
    /// Counts a message, sent or received. Returns true if the connection pays from now on; once, and then every time that as much
    /// more was carried.
    #[inline]
    pub fn pays(&mut self, bytes: usize) -> bool {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes as u64);
        let pays = self.messages >= MESSAGES || self.bytes >= BYTES;
        if pays {
            *self = Self::default();
        }
        pays
    }
}
