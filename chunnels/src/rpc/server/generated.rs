//! A stream of responses that an asynchronous block makes, one by one.

use super::Reply;
use crate::rpc::Failure;
use futures_util::{Stream, StreamExt};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The place of the response that was made and not taken.
type Place<R> = Arc<Mutex<Option<Result<R, Failure>>>>;

/// The end of a stream into which its block puts responses.
#[derive(Debug)]
pub struct Responding<R> {
    place: Place<R>,
}

impl<R> Responding<R> {
    /// Puts a response for each item in. Cancellation-safe.
    pub async fn each<T>(&self, items: impl Stream<Item = T>, response: impl Fn(T) -> Result<R, Failure>) {
        let mut items = pin!(items);
        while let Some(item) = items.next().await {
            *self.place.lock() = Some(response(item));
            // Until the stream has given the response out, and is polled for the next.
            poll_fn(|_| if self.place.lock().is_some() { Poll::Pending } else { Poll::Ready(()) }).await;
        }
    }
}

/// The stream.
struct Generated<F, R> {
    /// None at the end.
    block: Option<Pin<Box<F>>>,
    place: Place<R>,
}

impl<F: Future<Output = ()>, R> Stream for Generated<F, R> {
    type Item = Result<R, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(block) = &mut self.block else { return Poll::Ready(None) };
        let is_over = block.as_mut().poll(cx).is_ready();
        let made = self.place.lock().take();
        if is_over {
            self.block = None;
        }
        match made {
            None if !is_over => Poll::Pending,
            made => Poll::Ready(made),
        }
    }
}

impl<'a, R: Send + 'a> Reply<'a, R> {
    /// Returns the responses that an asynchronous block makes, which may own what they borrow: for the code of
    /// `#[bertha::service]`.
    #[doc(hidden)]
    pub fn generated<F>(block: impl FnOnce(Responding<R>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'a,
    {
        let place = Place::default();
        let block = Some(Box::pin(block(Responding { place: place.clone() })));
        Self::Several(Box::pin(Generated { block, place }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use futures_util::stream::{iter, pending};

    #[test]
    fn items_come_one_by_one_and_the_block_waits_for_them() {
        let made = Mutex::new(0);
        let items = iter(0..3).inspect(|_| *made.lock() += 1);
        let Reply::Several(mut stream) =
            Reply::generated(async |place| place.each(items, |item| Ok(2 * item)).await)
        else {
            panic!("one response")
        };
        for expected in 0..3 {
            assert_eq!(stream.next().now_or_never().flatten().and_then(Result::ok), Some(2 * expected));
            assert_eq!(*made.lock(), expected + 1);
        }
        assert!(matches!(stream.next().now_or_never(), Some(None)));
        assert!(matches!(stream.next().now_or_never(), Some(None)));
    }

    #[test]
    fn a_block_that_waits_makes_the_stream_wait() {
        let Reply::Several(mut stream) =
            Reply::generated(async |place: Responding<u8>| place.each(pending::<u8>(), Ok).await)
        else {
            panic!("one response")
        };
        assert!(stream.next().now_or_never().is_none());
    }
}
