//! The number of descriptors that this process may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of descriptors of this process (`RLIMIT_NOFILE`) to the hard one, and returns how many it may have now.
///
/// The usual soft limit of 1,024 is there for programs that use `select`; servers of this crate do not.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let raised = raise_limit();
        let now = getrlimit(Resource::Nofile);
        assert_eq!((now.current, Some(raised)), (now.maximum, now.current));
    }
}
