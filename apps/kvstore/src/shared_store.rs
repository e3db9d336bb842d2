//! The store of a shard.

use crate::{Capacity, Store};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Instant;

/// A store that all connections of one shard share. Clones are the same store.
#[derive(Clone, Debug)]
pub(crate) struct SharedStore {
    // On tokio a shard has one thread, so nobody ever waits for the lock, which is taken once for a burst.
    store: Arc<Mutex<Store>>,
    /// The origin of its time.
    started: Instant,
}

impl SharedStore {
    /// An empty one.
    pub(crate) fn new(capacity: Capacity) -> Self {
        Self { store: Arc::new(Mutex::new(Store::new(capacity))), started: Instant::now() }
    }

    /// The store, which knows the time if any of its records expires. Not to be held across a wait.
    pub(crate) fn borrow(&self) -> MutexGuard<'_, Store> {
        let mut store = self.store.lock();
        if store.has_expiring() {
            store.advance(self.started.elapsed());
        }
        store
    }

    /// The store, which knows the time. Not to be held across a wait.
    pub(crate) fn borrow_now(&self) -> MutexGuard<'_, Store> {
        let mut store = self.store.lock();
        store.advance(self.started.elapsed());
        store
    }
}
