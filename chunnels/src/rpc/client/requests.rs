//! The requests of a call that has a stream of them.

use super::multiplexer::MultiplexerShared;
use crate::rpc::encode::{Encode, encode};
use crate::rpc::message::CallId;
use crate::rpc::{Failure, FailureKind, Message, Metadata};
use crate::serialize::Codec;
use bertha_core::Connection;
use futures_util::Stream;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The requests that are sent in one burst.
const BURST: usize = 64;

/// A request of a stream, in the format of a codec.
pub(super) struct StreamedRequest<K, V> {
    pub(super) codec: K,
    pub(super) value: V,
}

impl<K: Codec<V>, V: Sync> Encode for StreamedRequest<K, V> {
    fn encode(&self, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(&self.codec, &self.value, into)
    }

    fn limit(&self) -> usize {
        self.codec.limit()
    }
}

/// The reason for which a burst of requests is sent, although further requests may come.
enum Flush {
    /// No further request is there, or may be sent.
    Pause,
    /// The stream has ended.
    End,
    /// The call has an outcome, or the server takes no more.
    Over,
    /// A request has no encoding.
    Failed(Failure),
}

/// Sends the requests of a call, as many as the server takes, and drops them once it takes no more.
pub(super) async fn send_requests<C, I>(
    shared: Arc<MultiplexerShared<C>>,
    call: CallId,
    requests: impl Stream<Item = I> + Send,
) where
    C: Connection<Data = Message>,
    I: Encode + Send,
{
    let mut requests = pin!(requests);
    let mut burst = Vec::new();
    loop {
        let flush = poll_fn(|cx| poll_burst(&shared, call, requests.as_mut(), &mut burst, cx)).await;
        if let Flush::End = flush {
            burst.extend(shared.end_requests(call));
        }
        if !burst.is_empty()
            && let Err(error) = shared.connection().send_batch(burst.drain(..)).await
        {
            // The task that receives finds a connection that has ended.
            return shared.break_off(call, Failure::of_connection(&error, true));
        }
        match flush {
            Flush::Pause => {}
            Flush::End | Flush::Over => return,
            Flush::Failed(failure) => return shared.break_off(call, failure),
        }
    }
}

/// Adds requests to a burst until it is to be sent.
fn poll_burst<C, I>(
    shared: &MultiplexerShared<C>,
    call: CallId,
    mut requests: Pin<&mut (impl Stream<Item = I> + Send)>,
    burst: &mut Vec<Message>,
    cx: &mut Context<'_>,
) -> Poll<Flush>
where
    C: Connection<Data = Message>,
    I: Encode,
{
    loop {
        match shared.poll_room_for_request(call, cx) {
            Poll::Ready(true) if burst.len() < BURST => {}
            Poll::Ready(false) => return Poll::Ready(Flush::Over),
            Poll::Pending if burst.is_empty() => return Poll::Pending,
            _ => return Poll::Ready(Flush::Pause),
        }
        match requests.as_mut().poll_next(cx) {
            Poll::Ready(Some(request)) => match shared.encode_request(call, &request) {
                Ok(message) => burst.extend(message),
                Err(failure) => return Poll::Ready(Flush::Failed(failure)),
            },
            Poll::Ready(None) => return Poll::Ready(Flush::End),
            Poll::Pending if burst.is_empty() => return Poll::Pending,
            Poll::Pending => return Poll::Ready(Flush::Pause),
        }
    }
}

impl<C: Connection<Data = Message>> MultiplexerShared<C> {
    fn poll_room_for_request(&self, call: CallId, cx: &Context<'_>) -> Poll<bool> {
        self.lock().calls.poll_room_for_request(call, cx.waker())
    }

    fn encode_request(&self, call: CallId, request: &impl Encode) -> Result<Option<Message>, Failure> {
        let write = |into: &mut [u8]| request.encode(into);
        let (encoder, connection) = (self.encoder(), self.connection());
        let body = encoder.encode_behind(&Metadata::new(), connection, request.limit(), write);
        Ok(self.lock().calls.request(call, body.map_err(Failure::after_running)?))
    }

    fn end_requests(&self, call: CallId) -> Option<Message> {
        self.lock().calls.end_requests(call)
    }

    /// Fails a call whose requests can't go on, unless no more are to be sent.
    #[cold]
    fn break_off(&self, call: CallId, failure: Failure) {
        let mut woken = Vec::new();
        let mut state = self.lock();
        state.calls.break_off(call, failure, &mut woken);
        Self::wake_sender(state);
        woken.into_iter().for_each(std::task::Waker::wake);
    }

    /// Fails a call whose task has ended before its requests have: the stream has panicked, or the runtime has ended.
    pub(super) fn requests_ended(&self, call: CallId) {
        let what = "the stream of requests was dropped before its end";
        self.break_off(call, Failure::of(FailureKind::Failed, what).after_running());
    }
}
