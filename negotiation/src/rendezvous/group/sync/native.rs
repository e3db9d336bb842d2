//! The primitives of the system.

pub(in crate::rendezvous::group) use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Number of threads that have a count of their own.
pub(in crate::rendezvous::group) const THREADS: usize = 8;

static NEXT: AtomicUsize = AtomicUsize::new(1);

std::thread_local! {
    static THREAD: usize = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// Returns the unique number of this thread.
#[inline]
pub(in crate::rendezvous::group) fn thread() -> usize {
    THREAD.with(|number| *number)
}
