//! Whatever carries encoded calls.

use crate::rpc::encode::Encode;
use crate::rpc::{Failure, Method};
use bertha_core::Buf;
use std::task::{Context, Poll};
use std::time::Duration;

/// Carries encoded calls: over one connection, over a connection that is made again, or over several.
///
/// A future that is dropped cancels its call.
pub trait Caller: Clone + Send + Sync + 'static {
    /// A stream of encoded responses.
    type Parts: ResponseParts;

    /// Makes a call with one response. It fails once `deadline` has passed.
    ///
    /// # Errors
    /// See [`FailureKind`](crate::rpc::FailureKind).
    fn ask<E: Encode + ?Sized>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        request: &E,
    ) -> impl Future<Output = Result<Buf, Failure>> + Send;

    /// Makes a call with a stream of responses.
    ///
    /// # Errors
    /// The errors of sending.
    fn open<E: Encode + ?Sized>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        request: &E,
    ) -> impl Future<Output = Result<Self::Parts, Failure>> + Send;
}

/// A stream of encoded responses. Dropping it cancels the call.
pub trait ResponseParts: Send + Unpin + 'static {
    /// Returns the next response; nothing after the last, and after a failure.
    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Buf, Failure>>>;
}
