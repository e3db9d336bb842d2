//! The store of a shard.

use crate::{Capacity, Store};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Instant;

/// A store that all connections of a shard share, and clones too.
#[derive(Clone, Debug)]
pub(crate) struct SharedStore {
    // On tokio a shard has a single thread, so no task ever waits for the lock, which is taken once for a
    // burst.
    store: Arc<Mutex<Store>>,
    /// Origin of the store's time.
    started: Instant,
}

impl SharedStore {
    /// Creates an empty store.
    pub(crate) fn new(capacity: Capacity) -> Self {
        Self { store: Arc::new(Mutex::new(Store::new(capacity))), started: Instant::now() }
    }

    /// Locks the store, which knows the time if any of its records expires. The guard must not be held across
    /// a wait.
    pub(crate) fn borrow(&self) -> MutexGuard<'_, Store> {
        let mut store = self.store.lock();
        if store.has_expiring() {
            store.advance(self.started.elapsed());
        }
        store
    }

    /// Locks the store, which knows the time. The guard must not be held across a wait.
    pub(crate) fn borrow_now(&self) -> MutexGuard<'_, Store> {
        let mut store = self.store.lock();
        store.advance(self.started.elapsed());
        store
    }
}
