//! The atomics of counting; the tests under loom put loom's in their place.

pub(super) use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The number of threads with counts of their own.
pub(super) const THREADS: usize = 8;

static NEXT: AtomicUsize = AtomicUsize::new(1);

std::thread_local! {
    static THREAD: usize = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// The number of this thread, which no other ever has.
#[inline]
pub(super) fn thread() -> usize {
    THREAD.with(|number| *number)
}
