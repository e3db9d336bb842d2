//! Sockets that one descriptor of one process alone has named since they were made, and no set of epoll. Of another, a call before `connect` has not
//! told who else reads it, so it stays with the kernel.

use crate::process::DESCRIPTORS;
use libc::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// The forks of this process and of those before it, plus one.
static FORKS: AtomicU32 = AtomicU32::new(1);

/// The forks when a socket was made, or zero for a descriptor that is not alone.
static MADE: [AtomicU32; DESCRIPTORS] = [const { AtomicU32::new(0) }; DESCRIPTORS];

fn note(fd: c_int, forks: u32) {
    if let Some(made) = usize::try_from(fd).ok().and_then(|fd| MADE.get(fd)) {
        made.store(forks, Ordering::Relaxed);
    }
}

/// Notes a new socket.
pub(crate) fn made(fd: c_int) {
    note(fd, FORKS.load(Ordering::Relaxed));
}

/// Notes that a descriptor is not the only one, that a set of epoll has it, or that it is closed.
pub(crate) fn shared(fd: c_int) {
    note(fd, 0);
}

/// Notes that a child gets all descriptors.
pub(crate) fn forking() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Returns true if a descriptor is the only one of its socket.
pub(crate) fn is_alone(fd: c_int) -> bool {
    let made = usize::try_from(fd).ok().and_then(|fd| MADE.get(fd));
    made.is_some_and(|made| made.load(Ordering::Relaxed) == FORKS.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_alone_until_it_has_a_copy_or_a_child() {
        // A number that no test has.
        let fd = 60_000;
        assert!(!is_alone(fd) && !is_alone(-1));
        made(fd);
        assert!(is_alone(fd));
        shared(fd);
        assert!(!is_alone(fd));
        made(fd);
        forking();
        assert!(!is_alone(fd));
    }
}
