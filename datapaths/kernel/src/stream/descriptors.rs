//! The limit of descriptors of the process.

use rustix::process::{Resource, getrlimit};

/// Returns the number of descriptors that the process may have, if there is a limit.
pub(super) fn limit() -> Option<usize> {
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok())
}
