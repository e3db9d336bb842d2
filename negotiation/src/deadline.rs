//! Giving up on time.

use bertha_core::{Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

/// The text of an error of a stack that was not built in time.
pub(crate) const NOT_READY: &str = "a Chunnel did not get ready in time";

/// Runs `work` for at most `limit`. It stays where it is pinned: a future that is handed over takes room twice.
///
/// # Errors
/// Errors of `work`; [`TimedOut`](ErrorKind::TimedOut) with the text that `what` makes.
pub(crate) async fn within<T, W: Into<Cow<'static, str>>>(
    runtime: &impl Runtime,
    limit: Duration,
    what: impl FnOnce() -> W + Send,
    mut work: Pin<&mut (impl Future<Output = Result<T, Error>> + ?Sized)>,
) -> Result<T, Error> {
    // Most work is done at once, and needs no clock.
    if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        return done;
    }
    // Boxed, so that it carries no room for the rest.
    let late = async {
        let deadline = pin!(runtime.sleep_until(runtime.now() + limit));
        match select(work, deadline).await {
            Either::Left((done, _)) => done,
            Either::Right(_) => Err(Error::new(ErrorKind::TimedOut, what()).at("negotiation")),
        }
    };
    Box::pin(late).await
}
