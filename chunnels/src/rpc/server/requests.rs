//! The stream of requests of a call, for its handler.

use super::due::Due;
use super::waiting::Waiting;
use crate::rpc::encode::decode;
use crate::rpc::message::{CallId, Content};
use crate::rpc::parts::{Next, Parts, Violation, WINDOW};
use crate::rpc::{Failure, FailureKind};
use crate::serialize::Codec;
use bertha_core::Buf;
use futures_util::Stream;
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// The requests of a call behind its first, in the order in which the client has made them: the last argument of a method of
/// `#[bertha::service]`, or by [`Request::requests`](super::Request::requests).
///
/// It ends with `None` where the client has ended it, and with a failure if a request does not decode, if the client breaks
/// the protocol, or once the call is over, for a handler that has moved it to another task: answered, cancelled, past its
/// deadline, or with its connection. Requests that have arrived and were not taken are dropped then.
///
/// At most 64 requests wait here, and fewer if they are long; the client makes no more before they were taken. A stream
/// whose request exceeds the bytes that may wait [at its connection](super::Serve::waiting_bytes), or
/// [at all connections](super::Serve::waiting_with), fails with [`Overloaded`](FailureKind::Overloaded). If it is
/// dropped before its end, the client drops its stream, and the call goes on.
pub struct Requests<T> {
    arrived: Arc<ArrivedRequests>,
    decode: Decode<T>,
    is_over: bool,
}

/// A codec, as a function: it does not allocate for a codec without options.
type Decode<T> = Box<dyn Fn(&[u8]) -> Result<T, Failure> + Send + Sync>;

impl<T> Requests<T> {
    pub(super) fn new<K: Codec<T>>(arrived: Arc<ArrivedRequests>, codec: &K) -> Self {
        let codec = codec.clone();
        Self { arrived, decode: Box::new(move |bytes| decode(&codec, bytes)), is_over: false }
    }

    /// Waits for the next request. Cancellation-safe.
    pub async fn next(&mut self) -> Option<Result<T, Failure>> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Failure>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        // A handler may fail its call with it, and has begun.
        let decode = |request: Result<Buf, Failure>| {
            request.and_then(|request| (self.decode)(&request)).map_err(Failure::after_running)
        };
        let request = ready!(self.arrived.poll(cx)).map(decode);
        if !matches!(request, Some(Ok(_))) {
            self.is_over = true;
            self.arrived.leave();
        }
        Poll::Ready(request)
    }
}

impl<T> Stream for Requests<T> {
    type Item = Result<T, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(cx)
    }
}

impl<T> Drop for Requests<T> {
    fn drop(&mut self) {
        self.arrived.leave();
    }
}

impl<T> fmt::Debug for Requests<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

/// The requests of a call that have arrived, between the connection and the handler.
pub(super) struct ArrivedRequests {
    call: CallId,
    state: Mutex<State>,
    due: Arc<Due>,
    waiting: Arc<Waiting>,
}

struct State {
    parts: Parts,
    /// The bytes of the first request of the call, and of those parts that have arrived.
    bytes: usize,
    /// The length of the longest part.
    longest: usize,
    /// True until the handler takes no more.
    is_taken: bool,
    failure: Option<Failure>,
    waker: Option<Waker>,
}

impl ArrivedRequests {
    /// Makes a stream, and lets the client begin. The first request of the call, of `bytes`, waits for the others.
    ///
    /// # Errors
    /// `Overloaded` without room for the first request.
    pub(super) fn new(
        call: CallId,
        bytes: usize,
        due: Arc<Due>,
        waiting: Arc<Waiting>,
    ) -> Result<Self, Failure> {
        waiting.add(bytes)?;
        let parts = Parts::granting(waiting.first_window());
        due.add(call, Content::Credit { parts: parts.granted() });
        let state = State { parts, bytes, longest: 0, is_taken: true, failure: None, waker: None };
        Ok(Self { call, state: Mutex::new(state), due, waiting })
    }

    /// Makes a stream that fails at once.
    pub(super) fn failed(call: CallId, failure: Failure, due: Arc<Due>, waiting: Arc<Waiting>) -> Self {
        let (parts, failure) = (Parts::granting(WINDOW), Some(failure));
        let state = State { parts, bytes: 0, longest: 0, is_taken: false, failure, waker: None };
        Self { call, state: Mutex::new(state), due, waiting }
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<Result<Buf, Failure>>> {
        let mut state = self.state.lock();
        if let Some(failure) = state.failure.take() {
            return Poll::Ready(Some(Err(failure)));
        }
        match state.parts.take() {
            Next::Part(part) => {
                state.bytes -= part.len();
                self.waiting.remove(part.len());
                let window = self.waiting.window(state.longest);
                if let Some(parts) = state.parts.due_credit(window) {
                    self.due.add(self.call, Content::Credit { parts });
                }
                Poll::Ready(Some(Ok(part)))
            }
            Next::Nothing => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            Next::End => Poll::Ready(None),
        }
    }

    /// Records that the handler takes no more requests.
    fn leave(&self) {
        let mut state = self.state.lock();
        if state.is_taken {
            state.is_taken = false;
            self.clear(&mut state);
            if !state.parts.has_end() {
                self.due.add(self.call, Content::Cancel);
            }
        }
    }

    /// Takes in a request. Returns false for a request that the client was not allowed to send.
    pub(super) fn on_part(&self, index: u32, part: Buf) -> bool {
        let mut state = self.state.lock();
        if !state.is_taken {
            // On its way as the handler left.
            return state.parts.is_granted(index);
        }
        let bytes = part.len();
        let taken = state.parts.on_part(index, part);
        if taken.is_ok() {
            if let Err(failure) = self.waiting.add(bytes) {
                self.due.add(self.call, Content::Cancel);
                self.fail(state, failure);
                return true;
            }
            state.bytes += bytes;
            state.longest = state.longest.max(bytes);
        }
        self.finish(state, taken)
    }

    /// Takes in the end of the requests. Returns false for an end that can't be.
    pub(super) fn on_end(&self, parts: u32) -> bool {
        let mut state = self.state.lock();
        if !state.is_taken {
            return true;
        }
        let taken = state.parts.on_end(parts);
        self.finish(state, taken)
    }

    fn finish(&self, mut state: MutexGuard<'_, State>, taken: Result<(), Violation>) -> bool {
        if taken.is_err() {
            self.due.add(self.call, Content::Cancel);
            self.fail(state, wrong());
            return false;
        }
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        true
    }

    /// Fails the stream, since its call is over, unless the handler has taken its end.
    pub(super) fn end(&self, failure: Failure) {
        self.fail(self.state.lock(), failure);
    }

    /// Drops the requests that were not taken, and tells the handler, if it takes requests still.
    fn fail(&self, mut state: MutexGuard<'_, State>, failure: Failure) {
        if !state.is_taken {
            return;
        }
        state.is_taken = false;
        self.clear(&mut state);
        state.failure = Some(failure);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Drops the requests that were not taken.
    fn clear(&self, state: &mut State) {
        state.parts.clear();
        self.waiting.remove(std::mem::take(&mut state.bytes));
    }
}

#[cold]
fn wrong() -> Failure {
    let what =
        "the client has sent a request twice, beyond the requests that were granted, or behind their end";
    Failure::of(FailureKind::Malformed, what)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::rpc::WaitingBytes;

    /// The length of a request.
    const LENGTH: usize = 1_000;

    /// A client that sends all it may, and the requests of its call at the server.
    struct Client {
        requests: ArrivedRequests,
        due: Arc<Due>,
        sent: u32,
        granted: u32,
    }

    impl Client {
        fn new(waiting: &Arc<Waiting>) -> Self {
            let (due, call) = (Arc::new(Due::default()), CallId { slot: 1, generation: 0 });
            let requests = ArrivedRequests::new(call, 0, due.clone(), waiting.clone()).unwrap();
            Self { requests, due, sent: 0, granted: 0 }
        }

        fn send(&mut self, length: usize) {
            for signal in self.due.take().into_values() {
                let Content::Credit { parts } = signal else { panic!("{signal:?}") };
                self.granted = parts;
            }
            while self.sent < self.granted {
                assert!(self.requests.on_part(self.sent, Buf::copy_of(&vec![0; length], 0).unwrap()));
                self.sent += 1;
            }
        }

        /// Returns true if there is a request, and takes it as the handler.
        fn take(&self) -> bool {
            let taken = self.requests.poll(&Context::from_waker(Waker::noop()));
            matches!(taken, Poll::Ready(Some(Ok(_))))
        }
    }

    fn waiting(requests: usize) -> (Arc<Waiting>, WaitingBytes) {
        let together = WaitingBytes::new(usize::MAX);
        (Arc::new(Waiting::new(requests * LENGTH, together.clone(), LENGTH)), together)
    }

    #[test]
    fn streams_of_long_requests_are_held_back_while_their_handlers_are_slow() {
        let (waiting, together) = waiting(16);
        let mut clients: [Client; 4] = std::array::from_fn(|_| {
            let mut client = Client::new(&waiting);
            client.send(LENGTH);
            client
        });
        assert_eq!(clients.each_ref().map(|client| client.granted), [2, 1, 1, 1]);
        for round in 0..1_000 {
            let client = &mut clients[round % 4];
            assert!(client.take(), "each stream goes on");
            client.send(LENGTH);
            assert!(together.bytes() <= 16 * LENGTH);
        }
    }

    #[test]
    fn a_stream_of_long_requests_has_room_beside_full_ones() {
        let (waiting, together) = waiting(16);
        let full = |_| {
            let mut client = Client::new(&waiting);
            client.send(LENGTH);
            client
        };
        let clients: Vec<_> = (0..15).map(full).collect();
        assert_eq!(together.bytes(), 16 * LENGTH);
        assert!(clients.iter().all(Client::take));
    }

    #[test]
    fn streams_of_long_requests_that_begin_together_have_room() {
        let (waiting, together) = waiting(16);
        let mut clients: [Client; 8] = std::array::from_fn(|_| Client::new(&waiting));
        clients.iter_mut().for_each(|client| client.send(LENGTH));
        assert_eq!(together.bytes(), 16 * LENGTH);
        assert!(clients.iter().all(Client::take));
    }

    #[test]
    fn a_stream_of_short_requests_has_the_whole_window() {
        let (waiting, _) = waiting(16);
        let mut client = Client::new(&waiting);
        client.send(1);
        assert_eq!(client.granted, 2);
        assert!(client.take());
        client.send(1);
        assert_eq!(client.granted, 1 + WINDOW);
    }
}
