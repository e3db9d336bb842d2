//! Deliberate failures.

use super::error;
use bertha_core::{Error, ErrorKind};

#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Number of the next calls that are throttled.
    pub(super) throttled: usize,
    pub(super) is_away: bool,
    pub(super) is_refusing: bool,
    /// Number of bytes beyond which the messages of a call that publishes are too large.
    pub(super) max_call: Option<usize>,
    /// Number of calls so far.
    pub(super) calls: u64,
}

impl Faults {
    /// Counts a call, and makes it fail if it has to.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        self.calls += 1;
        self.has_to_fail()?;
        if self.throttled > 0 {
            self.throttled -= 1;
            return Err(error(ErrorKind::Exhausted, "too many calls; retry later"));
        }
        Ok(())
    }

    /// Makes a waiting call fail, if the server has gone meanwhile.
    pub(super) fn has_to_fail(&self) -> Result<(), Error> {
        if self.is_away {
            return Err(error(ErrorKind::Unreachable, "the server is away"));
        }
        if self.is_refusing {
            let what = "the credentials of this test are refused; call set_refusing(false)";
            return Err(error(ErrorKind::Unauthenticated, what));
        }
        Ok(())
    }
}
