//! Bytes of memory that other processes write to.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Bytes that another process may change at any time.
///
/// There is no reference to them, and a copy of them is the business of those who made them: a system call reads them where they lie. What a
/// reader gets of them may be any bytes.
pub struct SharedBytes {
    start: *const u8,
    len: usize,
    /// The owner that keeps the bytes mapped.
    _memory: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the pointer is one to memory that stays mapped until `_memory` is dropped, in whichever thread; nothing here follows it.
unsafe impl Send for SharedBytes {}

// SAFETY: a shared reference gives out an address and a number.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// Makes a value of bytes that `memory` keeps mapped.
    ///
    /// # Safety
    /// Until the last clone of `memory` is dropped, `len` bytes from `start` on are mapped in this process, may be read, and are each backed
    /// by a page.
    pub unsafe fn new(start: *const u8, len: usize, memory: Arc<dyn Any + Send + Sync>) -> Self {
        Self { start, len, _memory: memory }
    }

    /// Returns the address of the first byte. While this value lives, the system may read as many bytes as its [length](Self::len) says.
    pub fn start(&self) -> *const u8 {
        self.start
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Leaves the first bytes out, at most as many as there are.
    pub fn advance(&mut self, bytes: usize) {
        let bytes = bytes.min(self.len);
        self.start = self.start.wrapping_add(bytes);
        self.len -= bytes;
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBytes").field("len", &self.len).finish_non_exhaustive()
    }
}
