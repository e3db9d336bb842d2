//! A descriptor that can always be read. It lies in those sets of epoll that the kernel alone waits for, in the place of bytes that are still
//! in rings, since their other ends have not sent them again.

use crate::{process, real};
use libc::{c_int, epoll_event};
use std::ptr::from_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// The descriptor plus one, or zero before it is needed.
static BELL: AtomicI32 = AtomicI32::new(0);

/// The number of sets in which it lies.
static SETS: AtomicUsize = AtomicUsize::new(0);

/// Puts the descriptor into a set, whose events of it have these data.
pub(crate) fn put(set: c_int, is_in: &AtomicBool, data: u64) {
    if is_in.load(Ordering::Relaxed) {
        return;
    }
    let mut event = epoll_event { events: libc::EPOLLIN as u32, u64: data };
    // SAFETY: the event lives until the call returns.
    if unsafe { real::epoll_ctl(set, libc::EPOLL_CTL_ADD, bell(), from_mut(&mut event)) } == 0 {
        is_in.store(true, Ordering::Relaxed);
        SETS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes the descriptor out of a set.
pub(crate) fn remove(set: c_int, is_in: &AtomicBool) {
    if is_in.swap(false, Ordering::Relaxed) {
        SETS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: no event is needed to remove a descriptor.
        unsafe { real::epoll_ctl(set, libc::EPOLL_CTL_DEL, bell(), std::ptr::null_mut()) };
    }
}

/// Returns true if the descriptor lies in some set.
#[inline]
pub(crate) fn is_needed() -> bool {
    SETS.load(Ordering::Relaxed) > 0
}

/// Returns the descriptor, made once, or -1.
fn bell() -> c_int {
    let known = BELL.load(Ordering::Relaxed);
    if known > 0 {
        return known - 1;
    }
    // SAFETY: the call takes numbers.
    let low = unsafe { libc::eventfd(1, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if low < 0 {
        return -1;
    }
    let bell = process::make_own(low);
    BELL.store(bell + 1, Ordering::Relaxed);
    bell
}

/// Forgets the descriptor, which the program has closed.
pub(crate) fn lost(fd: c_int) {
    let _ = BELL.compare_exchange(fd + 1, 0, Ordering::Relaxed, Ordering::Relaxed);
}
