//! The number of open sockets.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of sockets that Caladan has. Relaxed accesses suffice everywhere: no other value depends on the
/// number.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Counts a socket that Caladan has made.
pub(super) fn count() {
    OPEN.fetch_add(1, Ordering::Relaxed);
}

/// Counts a socket that Caladan has closed. Inlining is forced, since the function is called where preemption
/// is enabled: it touches no thread-local variable.
#[inline(always)]
pub(super) fn uncount() {
    OPEN.fetch_sub(1, Ordering::Relaxed);
}

/// Returns the number of sockets that are not closed yet.
pub(crate) fn sockets() -> usize {
    OPEN.load(Ordering::Relaxed)
}
