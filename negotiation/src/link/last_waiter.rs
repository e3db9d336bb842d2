//! The last task that has registered as a waiter.

use super::sync::{AtomicUsize, Ordering};
use std::task::Waker;

/// The task that said last that it waits, so that it finds itself by two loads when it waits again, and has nothing more to say.
///
/// It is written under the lock of a list that holds the task's waker. A caller that takes the waker out forgets the
/// task before it wakes it; so a woken task has to register again, and then sees the reason for which it was woken. The
/// numbers can't point to another task meanwhile, since the waker in the list keeps this one alive.
#[derive(Debug, Default)]
pub(crate) struct LastWaiter {
    /// The waker's two pointers, as numbers.
    data: AtomicUsize,
    vtable: AtomicUsize,
}

impl LastWaiter {
    /// Whether it is this task.
    #[inline(always)]
    pub(crate) fn is(&self, waker: &Waker) -> bool {
        self.data.load(Ordering::Relaxed) == waker.data().addr()
            && self.vtable.load(Ordering::Relaxed) == std::ptr::from_ref(waker.vtable()).addr()
    }

    /// Remembers the task of a waker that is in the list.
    pub(crate) fn set(&self, waker: &Waker) {
        self.data.store(waker.data().addr(), Ordering::Relaxed);
        self.vtable.store(std::ptr::from_ref(waker.vtable()).addr(), Ordering::Relaxed);
    }

    /// Remembers nobody.
    pub(crate) fn forget(&self) {
        // Where no waker's vtable is.
        self.vtable.store(0, Ordering::Relaxed);
    }
}
