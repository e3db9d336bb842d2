//! What seats and rounds are built of; the tests under loom put loom's in their place.

/// How many places there are at first, and how many are added at a time.
pub(crate) const PLACES: usize = 4;

pub(crate) use spin::mutex::SpinMutex as TryLock;
pub(crate) use spin::mutex::SpinMutexGuard as Guard;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};
