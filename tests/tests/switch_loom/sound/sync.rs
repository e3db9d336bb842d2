//! Loom's primitives behind the names that the seats use.

pub(crate) use loom::sync::Arc;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use loom::sync::{Mutex, MutexGuard as Guard};

/// A lock that is only tried: acquired and released as the real one.
pub(crate) struct TryLock<T>(Mutex<T>);

impl<T> TryLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.0.try_lock().ok()
    }
}
