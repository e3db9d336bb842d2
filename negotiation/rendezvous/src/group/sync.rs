//! What counting is built of; the tests under loom put loom's in their place.

pub(super) use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// How many threads count by themselves.
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
