//! The descriptors of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Once;

/// Raises the number of descriptors that the process may have to as many as the system allows it, once. The usual limit of 1,024 serves programs
/// that call `select`; a server would run out of descriptors long before it runs out of memory. Children inherit the limit.
pub(super) fn raise_limit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current == maximum {
            return;
        }
        match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
            Ok(()) => tracing::debug!(from = current, to = maximum, "raised the limit of descriptors"),
            Err(error) => tracing::warn!(%error, current, "the limit of descriptors stays as it is"),
        }
    });
}

/// The number of descriptors that the process may have, if there is a limit.
pub(super) fn limit() -> Option<usize> {
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok())
}
