//! An epoch: the time during which a connection uses one stack.

use super::slots::Slots;
use super::sync::{Arc, AtomicBool, Mutex, MutexGuard, Ordering};

/// One stack of a connection.
pub(crate) struct Epoch<C> {
    pub connection: C,
    /// True if no more messages arrive from the link below the stack, so that an error from it means that it
    /// is empty.
    is_over: AtomicBool,
    is_empty: AtomicBool,
}

impl<C> Epoch<C> {
    pub(crate) fn new(connection: C) -> Arc<Self> {
        let (is_over, is_empty) = Default::default();
        Arc::new(Self { connection, is_over, is_empty })
    }

    /// Records that no more messages arrive at the bottom of the stack.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Returns true if a reception found the stack empty after its [`end`](Self::end).
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty.load(Ordering::Acquire)
    }

    /// Returns true if a reception failed because the epoch is over; receivers are then asked to leave it.
    #[cold]
    pub(super) fn has_run_dry(&self, receivers: &Slots<Self>) -> bool {
        if !self.is_over.load(Ordering::Acquire) {
            return false;
        }
        self.is_empty.store(true, Ordering::Release);
        receivers.close();
        true
    }
}

/// The epochs of a connection: the epoch in force for sending, and the epoch in force for receiving.
pub(crate) struct Epochs<C> {
    /// The slots of sends. They count the messages that the application sent, or may have sent: it may cancel
    /// a `send` that waits.
    pub(crate) sending: Slots<Epoch<C>>,
    pub(crate) receiving: Slots<Epoch<C>>,
    /// The epoch in which this end sends.
    newest: Mutex<Arc<Epoch<C>>>,
}

impl<C> Epochs<C> {
    pub(crate) fn new(first: &Arc<Epoch<C>>) -> Self {
        Self { sending: Slots::new(first), receiving: Slots::new(first), newest: Mutex::new(first.clone()) }
    }

    /// Returns the epoch in which this end sends.
    pub(crate) fn newest(&self) -> Arc<Epoch<C>> {
        self.lock().clone()
    }

    pub(crate) fn set_newest(&self, epoch: &Arc<Epoch<C>>) {
        *self.lock() = epoch.clone();
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Epoch<C>>> {
        self.newest.lock()
    }
}
