//! Descriptors that actions of `posix_spawn` copy to other numbers, also where they are closed otherwise. libc does not tell what is in a list of
//! actions, so this is noted as it is put there.

use libc::{c_int, posix_spawn_file_actions_t};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// The copies that are known at once. If there is one more, every socket counts as copied.
const MOST: usize = 256;

/// A copy: the address of its list, or zero, and the descriptor.
struct Copy(AtomicUsize, AtomicI32);

static COPIES: [Copy; MOST] = [const { Copy(AtomicUsize::new(0), AtomicI32::new(0)) }; MOST];

static ARE_TOO_MANY: AtomicBool = AtomicBool::new(false);

/// Returns the copies of a list, which one thread alone uses at a time.
fn copies_of(actions: *const posix_spawn_file_actions_t) -> impl Iterator<Item = &'static Copy> {
    COPIES.iter().filter(move |copy| copy.0.load(Ordering::Relaxed) == actions.addr())
}

/// Forgets a list: one that is made anew, or ends.
pub(crate) fn forget(actions: *const posix_spawn_file_actions_t) {
    copies_of(actions).for_each(|copy| copy.0.store(0, Ordering::Relaxed));
}

/// Notes that a list copies a descriptor.
pub(crate) fn copies(actions: *const posix_spawn_file_actions_t, fd: c_int) {
    let take = |copy: &&Copy| {
        copy.0.compare_exchange(0, actions.addr(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    match COPIES.iter().find(take) {
        Some(copy) => copy.1.store(fd, Ordering::Relaxed),
        None => ARE_TOO_MANY.store(true, Ordering::Relaxed),
    }
}

/// Returns true if a list may copy a descriptor.
pub(crate) fn may_copy(actions: *const posix_spawn_file_actions_t, fd: c_int) -> bool {
    ARE_TOO_MANY.load(Ordering::Relaxed)
        || copies_of(actions).any(|copy| copy.1.load(Ordering::Relaxed) == fd)
}
