//! The number of the last error.

use libc::c_int;

/// Returns the number of the last error of this thread.
pub(crate) fn last() -> c_int {
    // SAFETY: the call takes no arguments.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the place belongs to this thread.
    unsafe { *place }
}

/// Sets the number of the last error of this thread.
pub(crate) fn set(errno: c_int) {
    // SAFETY: the call takes no arguments.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the place belongs to this thread.
    unsafe { *place = errno };
}

/// Sets the number of the last error, and returns what a failed call returns.
pub(crate) fn fail(errno: c_int) -> isize {
    set(errno);
    -1
}
