//! The number of descriptors that this process may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of descriptors of this process (`RLIMIT_NOFILE`) to the hard limit, and returns the
/// number of descriptors that the process may have. Children inherit the limit.
///
/// The usual soft limit of 1,024 serves programs that call `select`; a server would run out of descriptors long
/// before it runs out of memory.
pub fn raise_limit() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        tracing::debug!(%error, "the limit of descriptors stays");
        return current.unwrap_or(u64::MAX);
    }
    maximum.unwrap_or(u64::MAX)
}

/// Returns the soft limit of descriptors of this process (`RLIMIT_NOFILE`), if there is a limit.
pub fn soft_limit() -> Option<usize> {
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let raised = raise_limit();
        let now = getrlimit(Resource::Nofile);
        assert_eq!((now.current, Some(raised)), (now.maximum, now.current));
        assert_eq!(soft_limit().map(|limit| limit as u64), now.current);
    }
}
