//! Sending futures that the compiler does not know to be `Send`.

use std::pin::Pin;
use std::task::{Context, Poll};

/// A future of the conformance suites, which are written with closures that return futures. All values in
/// such a future are `Send` for every lifetime that occurs, but the compiler asks for every possible lifetime
/// (rust-lang/rust#110338).
#[derive(Debug)]
pub(crate) struct AssumeSend<F>(Pin<Box<F>>);

/// Wraps a future that holds only connections, listeners, their messages and references to them.
pub(crate) fn assume_send<F: Future>(future: F) -> AssumeSend<F> {
    AssumeSend(Box::pin(future))
}

// SAFETY: the suites are generic over connections, messages and datapaths, all of which are `Send + Sync` by the bounds of their traits, and hold
// references to them, buffers and vectors besides.
#[expect(unsafe_code, reason = "the compiler can't see it")]
unsafe impl<F> Send for AssumeSend<F> {}

impl<F: Future> Future for AssumeSend<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(cx)
    }
}
