//! A bound on the bytes of calls that engines hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The bytes of calls that engines hold, all connections of a [`Policies`](super::Policies) together.
#[derive(Debug, Clone)]
pub(super) struct HeldBytes(Arc<Account>);

#[derive(Debug)]
struct Account {
    bytes: AtomicUsize,
    limit: usize,
}

impl HeldBytes {
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Account { bytes: AtomicUsize::new(0), limit }))
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.bytes.load(Relaxed)
    }

    /// Returns the number of bytes for which there is room.
    pub(super) fn room(&self) -> usize {
        self.0.limit.saturating_sub(self.bytes())
    }

    pub(super) fn add(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.0.bytes.fetch_sub(bytes, Relaxed);
    }
}
