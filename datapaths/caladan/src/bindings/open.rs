//! How many sockets there are.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Those that Caladan has. Relaxed everywhere: a number by itself.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Counts a socket that Caladan has made.
pub(super) fn count() {
    OPEN.fetch_add(1, Ordering::Relaxed);
}

/// Takes off one that it has closed. In line by force, since it is called where preemption is enabled: it touches no thread-local variable.
#[inline(always)]
pub(super) fn uncount() {
    OPEN.fetch_sub(1, Ordering::Relaxed);
}

/// The sockets that are not closed yet.
pub(crate) fn sockets() -> usize {
    OPEN.load(Ordering::Relaxed)
}
