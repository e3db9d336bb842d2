//! Whatever carries encoded calls.

use crate::rpc::encode::Encode;
use crate::rpc::{Failure, FailureKind, Metadata, Method};
use bertha_core::Buf;
use futures_util::Stream;
use std::task::{Context, Poll};
use std::time::Duration;

/// Carries encoded calls: over one connection, over a connection that is made again, or over several.
///
/// A future that is dropped cancels its call.
pub trait Caller: Clone + Send + Sync + 'static {
    /// A stream of encoded responses.
    type Parts: ResponseParts;

    /// Returns true if a call that begins now would not wait for [room](Self::room). The default returns true.
    fn has_room(&self) -> bool {
        true
    }

    /// Waits, in turn, until there is room for a call, which it does not take: so a call may wait nevertheless. Returns
    /// at once for a connection that has ended, whose calls fail. Cancellation-safe. The default returns at once.
    fn room(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Makes a call with one response, to which `metadata` goes beside the request. It fails once `deadline` has passed.
    ///
    /// # Errors
    /// See [`FailureKind`].
    fn ask<E: Encode + ?Sized>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
    ) -> impl Future<Output = Result<Answer, Failure>> + Send;

    /// Makes a call with a stream of responses, to which `metadata` goes beside the request.
    ///
    /// # Errors
    /// The errors of sending.
    fn open<E: Encode + ?Sized>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
    ) -> impl Future<Output = Result<Self::Parts, Failure>> + Send;

    /// Makes a call with a stream of requests behind the first request, and one response. The call is never repeated,
    /// since a stream is there once. `requests` is dropped once the call is over, or the server takes no more.
    ///
    /// The default fails, for carriers without such calls.
    ///
    /// # Errors
    /// See [`FailureKind`].
    fn ask_with_requests<E: Encode + ?Sized, I: Encode + Send + 'static>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
        requests: impl Stream<Item = I> + Send + 'static,
    ) -> impl Future<Output = Result<Answer, Failure>> + Send {
        let _ = (method, deadline, metadata, request, requests);
        async { Err(no_requests()) }
    }

    /// Makes a call with a stream of requests, as [`ask_with_requests`](Self::ask_with_requests), and a stream of
    /// responses.
    ///
    /// The default fails, for carriers without such calls.
    ///
    /// # Errors
    /// The errors of sending.
    fn open_with_requests<E: Encode + ?Sized, I: Encode + Send + 'static>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
        requests: impl Stream<Item = I> + Send + 'static,
    ) -> impl Future<Output = Result<Self::Parts, Failure>> + Send {
        let _ = (method, deadline, metadata, request, requests);
        async { Err(no_requests()) }
    }
}

#[cold]
fn no_requests() -> Failure {
    let what = "this carrier of calls has no streams of requests; make the call over a connection";
    Failure::of(FailureKind::UnknownMethod, what)
}

/// The answer to a call: the encoded response, and the metadata that the server has sent with it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The encoded response.
    pub response: Buf,
    /// The metadata of the server.
    pub trailers: Metadata,
}

impl Answer {
    /// Makes an answer of an encoded response and its trailers.
    pub fn new(response: Buf, trailers: Metadata) -> Self {
        Self { response, trailers }
    }
}

/// An answer without trailers.
impl From<Buf> for Answer {
    fn from(response: Buf) -> Self {
        Self::new(response, Metadata::new())
    }
}

/// The trailers of streams that have none.
static NO_TRAILERS: Metadata = Metadata::new();

/// A stream of encoded responses. Dropping it cancels the call.
pub trait ResponseParts: Send + Unpin + 'static {
    /// Returns the next response; nothing after the last, and after a failure.
    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Buf, Failure>>>;

    /// Returns the metadata that the server has sent with the end of the stream; none before the end. A failure has
    /// its [own](Failure::trailers). The default returns none.
    fn trailers(&self) -> &Metadata {
        &NO_TRAILERS
    }
}
