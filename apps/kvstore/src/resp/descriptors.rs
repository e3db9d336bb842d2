//! The file descriptors of the process.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;

/// Raises the limit of file descriptors as far as the process may, and returns it.
pub(crate) fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, raised)
    {
        tracing::warn!(%error, ?limit, "the limit of file descriptors stays as it is");
    }
    let current = getrlimit(Resource::Nofile).current;
    current.map_or(usize::MAX, |current| usize::try_from(current).unwrap_or(usize::MAX))
}

/// Returns false if the process, or the system, has no file descriptor left.
pub(crate) fn is_one_free() -> bool {
    let opened = File::open("/dev/null");
    !opened.is_err_and(|error| matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE)))
}
