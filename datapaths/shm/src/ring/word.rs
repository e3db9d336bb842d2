//! A word of shared memory.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A word of memory that others write to: the processor's, or that of a model checker.
pub trait Word {
    /// Reads it.
    fn load(&self, order: Ordering) -> u64;

    /// Writes it.
    fn store(&self, value: u64, order: Ordering);

    /// Writes it, and returns what was there.
    fn swap(&self, value: u64, order: Ordering) -> u64;

    /// A sequentially consistent fence.
    fn fence();
}

impl Word for AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        Self::load(self, order)
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        Self::store(self, value, order);
    }

    #[inline]
    fn swap(&self, value: u64, order: Ordering) -> u64 {
        Self::swap(self, value, order)
    }

    #[inline]
    fn fence() {
        fence(Ordering::SeqCst);
    }
}
