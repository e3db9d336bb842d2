//! Forks of the process.
#![allow(unsafe_code)]

use std::io;

/// Lets every later child of this process call a function, which does what any thread may do between a fork and what
/// follows: no more than to store a number.
///
/// # Errors
/// Errors of the system, which has no memory for it.
pub(crate) fn watch(in_child: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the function is there as long as the process, and asks nothing of its caller; it is run by one thread.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
