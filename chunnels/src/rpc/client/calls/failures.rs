//! The failures of which a client tells its callers.

use crate::rpc::{Failure, FailureKind};

#[cold]
pub(super) fn overloaded(limit: usize) -> Failure {
    let what =
        format!("{limit} calls of this client are under way, which is its limit; wait for some of them");
    Failure::of(FailureKind::Overloaded, what)
}

#[cold]
pub(super) fn leaving() -> Failure {
    Failure::of(FailureKind::Unavailable, "the server shuts down; make the call at another server")
}

#[cold]
pub(super) fn timed_out() -> Failure {
    Failure::of(FailureKind::TimedOut, "no response before the deadline")
}

#[cold]
pub(super) fn malformed() -> Failure {
    let what = "the server's answer is none to this call, with one request or several, and one response or several; the two ends differ in their methods";
    Failure::of(FailureKind::Malformed, what).after_running()
}

#[cold]
pub(super) fn no_such_call() -> Failure {
    Failure::of(FailureKind::Failed, "the answer of this call was taken already")
}

/// Returns a failure of which the server has told.
#[cold]
pub(super) fn reported(kind: FailureKind, may_have_run: bool, text: Option<&[u8]>) -> Failure {
    let failure = Failure::of(kind, String::from_utf8_lossy(text.unwrap_or_default()).into_owned());
    if may_have_run { failure.after_running() } else { failure.before_running() }
}
