//! What seats and rounds are built of; the tests under loom put loom's in their place.

use spin::mutex::SpinMutex;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};

/// How many places there are at first, and how many are added at a time.
pub(crate) const PLACES: usize = 4;

/// A lock that is only tried.
pub(crate) type TryLock<T> = lock_api::Mutex<SpinMutex<()>, T>;

/// What has it. One word, where spin's own guard is two: each call keeps one.
pub(crate) type Guard<'a, T> = lock_api::MutexGuard<'a, SpinMutex<()>, T>;
