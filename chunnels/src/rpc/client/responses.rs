//! A stream of typed responses.

use super::ResponseParts;
use crate::rpc::encode::decode;
use crate::rpc::{Failure, Metadata};
use crate::serialize::Codec;
use futures_util::Stream;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The responses to one call, in the order in which the service made them. Dropping it cancels the call.
///
/// At most 64 responses wait here; the service makes no more before they were taken. If those of all streams exceed the bytes
/// that [may wait at clients](super::Multiplexer::waiting_with), the stream fails with
/// [`Overloaded`](crate::rpc::FailureKind::Overloaded), unless this response is the only one of its stream that waits. A
/// failure ends the stream, and may overtake responses that were sent before.
pub struct Responses<P, K, R> {
    parts: P,
    codec: K,
    response: PhantomData<fn() -> R>,
}

impl<P: ResponseParts, K: Codec<R>, R> Responses<P, K, R> {
    pub(super) fn new(parts: P, codec: K) -> Self {
        Self { parts, codec, response: PhantomData }
    }

    /// Waits for the next response. Cancellation-safe.
    pub async fn next(&mut self) -> Option<Result<R, Failure>> {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Returns the metadata that the server has sent with the end of the stream; none before the end. A failure has
    /// its [own](Failure::trailers).
    pub fn trailers(&self) -> &Metadata {
        self.parts.trailers()
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<R, Failure>>> {
        let decoded = |part: Result<_, _>| {
            part.and_then(|bytes: bertha_core::Buf| {
                decode(&self.codec, &bytes).map_err(Failure::after_running)
            })
        };
        self.parts.poll_part(cx).map(|part| part.map(decoded))
    }
}

impl<P: ResponseParts, K: Codec<R> + Unpin, R> Stream for Responses<P, K, R> {
    type Item = Result<R, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(cx)
    }
}

impl<P: fmt::Debug, K, R> fmt::Debug for Responses<P, K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Responses").field(&self.parts).finish()
    }
}
