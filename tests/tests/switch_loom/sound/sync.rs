//! Loom's primitives behind the names that slots and epochs use.

pub(crate) use super::waker_list::WakerList;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub(crate) use loom::sync::{Arc, MutexGuard};
use std::ops::{Deref, DerefMut};
use std::task::Waker;

/// Number of counting threads and of calls at once: smaller than in the model, so that threads share counters
/// and slots.
pub(crate) const THREADS: usize = 1;
pub(crate) const SLOTS: usize = 1;

/// Returns the number of this thread of the model.
pub(crate) fn thread() -> usize {
    let name = format!("{:?}", loom::thread::current().id());
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    1 + digits.parse::<usize>().unwrap()
}

/// Loom's lock with the interface of `parking_lot`: no panic poisons the lock.
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

/// A waker that is registered and taken by different threads, with the interface of `futures_util`.
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

/// A lock that is only tried: taken by one compare-and-swap, left by one store, as the real one.
pub(crate) struct TryLock<T> {
    is_taken: AtomicBool,
    /// The value, while no guard holds the lock. No thread ever waits for this mutex.
    value: std::sync::Mutex<Option<T>>,
}

pub(crate) struct Guard<'a, T> {
    lock: &'a TryLock<T>,
    /// The value, or `None` once the guard is dropped.
    value: Option<T>,
}

impl<T> TryLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { is_taken: AtomicBool::new(false), value: std::sync::Mutex::new(Some(value)) }
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.is_taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let value = self.value.try_lock().unwrap().take();
        assert!(value.is_some(), "two have the lock");
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
