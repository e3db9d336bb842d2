//! The store of a thread.

use crate::{Capacity, Store};
use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::time::Instant;

/// A store that all connections of one thread share. Clones are the same store.
#[derive(Clone, Debug)]
pub(crate) struct SharedStore {
    // No lock: it never leaves its thread.
    store: Rc<RefCell<Store>>,
    /// The origin of its time.
    started: Instant,
}

impl SharedStore {
    /// An empty one.
    pub(crate) fn new(capacity: Capacity) -> Self {
        Self { store: Rc::new(RefCell::new(Store::new(capacity))), started: Instant::now() }
    }

    /// The store, which knows the time if any of its records expires. Not to be held across a wait.
    pub(crate) fn borrow(&self) -> RefMut<'_, Store> {
        let mut store = self.store.borrow_mut();
        if store.has_expiring() {
            store.advance(self.started.elapsed());
        }
        store
    }

    /// The store, which knows the time. Not to be held across a wait.
    pub(crate) fn borrow_now(&self) -> RefMut<'_, Store> {
        let mut store = self.store.borrow_mut();
        store.advance(self.started.elapsed());
        store
    }
}
