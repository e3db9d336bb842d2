//! Forks of the process.

use std::io;

/// Lets every later child of this process know that it is one.
///
/// # Errors
/// Errors of the system, which has no memory for it.
pub(crate) fn watch() -> io::Result<()> {
    extern "C" fn in_child() {
        crate::runtime::after_fork();
    }
    // SAFETY: the handler does what any thread may do between a fork and what follows: one store.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
