//! A word of shared memory.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A word of memory that other processes write to: a word of the processor, or of a model checker.
pub trait Word {
    /// Reads the word.
    fn load(&self, order: Ordering) -> u64;

    /// Writes the word.
    fn store(&self, value: u64, order: Ordering);

    /// Writes the word, and returns its previous value.
    fn swap(&self, value: u64, order: Ordering) -> u64;

    /// Executes a sequentially consistent fence.
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
