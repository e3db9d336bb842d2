//! The locks and atomics of slots and epochs; the tests under loom put loom's in their place.

pub(crate) use crate::link::last_waiter::LastWaiter;
use spin::mutex::SpinMutex;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};

/// The number of slots at first, and of those that are added at a time.
pub(crate) const SLOTS: usize = 4;

/// A lock that is only tried.
pub(crate) type TryLock<T> = lock_api::Mutex<SpinMutex<()>, T>;

/// The guard of a [`TryLock`]: one word, where spin's own is two, since each call keeps one.
pub(crate) type Guard<'a, T> = lock_api::MutexGuard<'a, SpinMutex<()>, T>;
