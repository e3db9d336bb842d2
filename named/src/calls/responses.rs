//! A stream of responses to any caller.

use bertha::Buf;
use bertha::rpc::{Failure, Metadata, ResponseParts};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// The responses to one call, in order. Dropping it cancels the call.
///
/// Responses that wait here are at most 64; the service makes no more before they were taken.
pub struct AnyResponses(Box<dyn ResponseParts>);

impl AnyResponses {
    pub(super) fn new(parts: impl ResponseParts) -> Self {
        Self(Box::new(parts))
    }

    /// Waits for the next response; `None` after the last, and after a failure. Cancellation-safe.
    pub async fn next(&mut self) -> Option<Result<Buf, Failure>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for the next response, as [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Buf, Failure>>> {
        self.0.poll_part(cx)
    }

    /// Returns the metadata that the server has sent with the end of the stream; none before the end.
    pub fn trailers(&self) -> &Metadata {
        self.0.trailers()
    }
}

impl fmt::Debug for AnyResponses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyResponses").finish_non_exhaustive()
    }
}
