//! The primitives of the system.

pub(crate) use futures_util::task::AtomicWaker;
pub(crate) use parking_lot::{Mutex, MutexGuard};
use spin::mutex::SpinMutex;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Number of slots at first, and of slots that are added at a time.
pub(crate) const SLOTS: usize = 4;

/// A lock that can be tried but not waited for.
pub(crate) type TryLock<T> = lock_api::Mutex<SpinMutex<()>, T>;

/// The guard of a [`TryLock`]: one word, where spin's own guard has two, since each call keeps a guard.
pub(crate) type Guard<'a, T> = lock_api::MutexGuard<'a, SpinMutex<()>, T>;
