//! Counting what is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A count of those that are there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places(Arc<AtomicUsize>);

/// One of them, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Place(Places);

impl Places {
    pub(crate) fn taken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self) -> Place {
        self.0.fetch_add(1, Ordering::Relaxed);
        Place(self.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
