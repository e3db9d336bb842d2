//! The primitives of loom.

pub(crate) use loom::sync::MutexGuard;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::ops::{Deref, DerefMut};
use std::task::Waker;

/// Number of slots at first, and of slots that are added at a time: fewer than the models have calls at once.
pub(crate) const SLOTS: usize = 1;

/// Loom's lock with the interface of `parking_lot`: no panic poisons the lock.
#[derive(Debug)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// A waker that different threads register and take, with the interface of `futures_util`.
pub(crate) struct AtomicWaker(Mutex<Option<Waker>>);

impl AtomicWaker {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    pub(crate) fn register(&self, waker: &Waker) {
        *self.0.lock() = Some(waker.clone());
    }

    pub(crate) fn take(&self) -> Option<Waker> {
        self.0.lock().take()
    }
}

/// A lock that can be tried but not waited for. As spin's lock, it is acquired by one compare-and-swap and
/// released by one store.
pub(crate) struct TryLock<T> {
    is_taken: AtomicBool,
    /// The value, while the lock is free. No thread ever waits for this mutex.
    value: std::sync::Mutex<Option<T>>,
}

/// The guard of a [`TryLock`].
pub(crate) struct Guard<'a, T> {
    lock: &'a TryLock<T>,
    /// The value; `None` once the guard is dropped.
    value: Option<T>,
}

impl<T> TryLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { is_taken: AtomicBool::new(false), value: std::sync::Mutex::new(Some(value)) }
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.is_taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let value = self.value.try_lock().unwrap().take();
        assert!(value.is_some(), "two guards of one lock");
        Some(Guard { lock: self, value })
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().unwrap()
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().unwrap()
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        *self.lock.value.try_lock().unwrap() = self.value.take();
        self.lock.is_taken.store(false, Ordering::Release);
    }
}
