//! The requests of a call that has a stream of them.

use super::MultiplexerShared;
use crate::rpc::encode::Encode;
use crate::rpc::message::CallId;
use crate::rpc::{Failure, FailureKind, Message, Metadata};
use bertha_core::Connection;
use futures_util::Stream;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The requests that are sent in one burst.
const BURST: usize = 64;

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
            burst.extend(shared.end_of_requests(call));
        }
        if !burst.is_empty()
            && let Err(error) = shared.connection.send_batch(burst.drain(..)).await
        {
            // The task that receives finds a connection that has ended; any other error fails this call alone.
            return shared.break_off(call, Failure::of_connection(&error, true));
        }
        match flush {
            Flush::Pause => {}
            Flush::End => return shared.finish_requests(call),
            Flush::Over => return,
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
        self.state.lock().calls.poll_room_for_request(call, cx.waker())
    }

    fn encode_request(&self, call: CallId, request: &impl Encode) -> Result<Option<Message>, Failure> {
        let write = |into: &mut [u8]| request.encode(into);
        let body = self.encoder.encode_behind(&Metadata::new(), &self.connection, request.limit(), write);
        Ok(self.state.lock().calls.request(call, body.map_err(Failure::after_running)?))
    }

    fn end_of_requests(&self, call: CallId) -> Option<Message> {
        self.state.lock().calls.end_of_requests(call)
    }

    fn finish_requests(&self, call: CallId) {
        self.state.lock().calls.finish_requests(call);
    }

    /// Fails a call whose requests can't go on, unless no more are to be sent.
    #[cold]
    fn break_off(&self, call: CallId, failure: Failure) {
        let mut woken = Vec::new();
        let mut state = self.state.lock();
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use crate::Rpc;
    use crate::rpc::{self, Client, Context, FailureKind, serve};
    use bertha_core::{Runtime, Wrap, make_stack};
    use bertha_datapath_sim::pair;
    use bertha_runtime::tokio::TokioRuntime;
    use futures_util::{Stream, StreamExt, stream};

    #[bertha_macros::service]
    trait Numbers {
        async fn sum(&self, context: &Context, numbers: rpc::Requests<u64>) -> Result<u64, rpc::Failure>;
        fn doubles(
            &self,
            plus: u64,
            numbers: rpc::Requests<u64>,
        ) -> impl Stream<Item = Result<u64, rpc::Failure>>;
    }

    struct All;

    impl Numbers for All {
        async fn sum(&self, context: &Context, mut numbers: rpc::Requests<u64>) -> Result<u64, rpc::Failure> {
            let (mut count, mut sum) = (0_u64, 0);
            while let Some(number) = numbers.next().await {
                (count, sum) = (count + 1, sum + number?);
            }
            context.add_trailer("count", count.to_string())?;
            Ok(sum)
        }

        fn doubles(
            &self,
            plus: u64,
            numbers: rpc::Requests<u64>,
        ) -> impl Stream<Item = Result<u64, rpc::Failure>> {
            numbers.map(move |number| Ok(plus + 2 * number?))
        }
    }

    #[tokio::test]
    async fn typed_streams_of_requests_go_both_ways_and_a_panic_in_one_fails_its_call_alone() {
        let (one, other) = pair(TokioRuntime);
        let stack = make_stack!(Rpc::new());
        let numbers = NumbersClient::new(Client::new(stack.wrap(one).await.unwrap()));
        let serving = serve(stack.wrap(other).await.unwrap(), NumbersServer::new(All)).into_future();
        let _server = TokioRuntime.spawn(async move { serving.await.unwrap() });

        let (sum, trailers) = numbers.sum_and_trailers(stream::iter(0..1_000)).await.unwrap();
        assert_eq!((sum, trailers.get("count").unwrap()), (499_500, &b"1000"[..]));
        let mut doubles = numbers.doubles(1, stream::iter(0..200)).await.unwrap();
        let panicking = stream::iter(0..100).inspect(|number| assert!(*number < 70, "the stream panics"));
        let failure = numbers.sum(panicking).await.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Failed, true));
        assert!(failure.text().contains("dropped before its end"), "{failure}");
        for number in 0..200 {
            assert_eq!(doubles.next().await.unwrap().unwrap(), 1 + 2 * number);
        }
        assert!(doubles.next().await.is_none());
    }
}
