//! Giving up on time.

use bertha_core::{Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// Runs `work` for at most `limit`.
///
/// # Errors
/// Those of `work`; [`TimedOut`](ErrorKind::TimedOut) with `what` as text.
pub(super) async fn within<T>(
    runtime: &impl Runtime,
    limit: Duration,
    what: &'static str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let deadline = pin!(runtime.sleep_until(runtime.now() + limit));
    match select(pin!(work), deadline).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(Error::new(ErrorKind::TimedOut, what).at("negotiation")),
    }
}
