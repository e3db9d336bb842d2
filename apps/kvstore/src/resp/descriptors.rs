//! The file descriptors of the process.

use rustix::io::Errno;
use std::fs::File;

/// Returns false if the process, or the system, has no file descriptor left.
pub(crate) fn is_one_free() -> bool {
    let opened = File::open("/dev/null");
    !opened.is_err_and(|error| matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE)))
}
