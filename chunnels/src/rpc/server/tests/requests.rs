//! Clients that send requests as they should, and as they should not.

use super::*;
use crate::rpc::parts::WINDOW;
use crate::rpc::{Requests, Serve, ServedCalls, WaitingBytes};
use crate::serialize::Postcard;
use futures_util::FutureExt;
use parking_lot::Mutex;

/// Answers with the number of requests and their sum.
const SUM: Method = Method::new("sum");
/// Takes no request, and gives them to the test.
const MOVE: Method = Method::new("move");
/// Takes one request, and waits without the others.
const LEAVE: Method = Method::new("leave");
/// Asks for the requests twice.
const TWICE: Method = Method::new("twice");

#[derive(Clone, Default)]
struct Sums {
    moved: Arc<Mutex<Option<Requests<u8>>>>,
}

impl Service for Sums {
    type Response = Vec<u8>;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, Vec<u8>>, Failure> {
        if !(request.is(SUM) || request.is(MOVE) || request.is(LEAVE) || request.is(TWICE)) {
            return Err(request.unknown());
        }
        let mut requests = request.requests::<u8, _>(&Postcard);
        if request.is(TWICE) {
            let failure = request.requests::<u8, _>(&Postcard).next().await;
            return Err(failure.unwrap().unwrap_err());
        }
        if request.is(MOVE) {
            *self.moved.lock() = Some(requests);
            return std::future::pending().await;
        }
        if request.is(LEAVE) {
            requests.next().await.unwrap()?;
            drop(requests);
            return std::future::pending().await;
        }
        let (mut count, mut sum) = (0_u8, 0_u8);
        while let Some(number) = requests.next().await {
            count += 1;
            sum += number?;
        }
        Ok(Reply::One(vec![count, sum]))
    }

    fn encode(&self, response: &Vec<u8>, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        response.as_slice().encode(into)
    }
}

fn part(slot: u32, index: u32, bytes: &[u8]) -> Message {
    Message { body: Some(Buf::copy_of(bytes, 64).unwrap()), ..signal(slot, Content::Part { index }) }
}

/// The bytes of requests that may wait where the test sets it: room for several of the longest messages.
const BYTES: usize = 4 << 20;

/// A raw client, the service that it calls, and the counts of the server.
struct Scene {
    client: PairConnection<SimRuntime, Message>,
    sums: Sums,
    calls: ServedCalls,
}

impl Scene {
    async fn send(&self, messages: impl IntoIterator<Item = Message>) {
        for message in messages {
            self.client.send(message).await.unwrap();
        }
    }

    /// Returns the content and the body of the next message.
    async fn next(&self) -> (Content, Vec<u8>) {
        let message = self.client.recv().await.unwrap();
        (message.content, message.body().to_vec())
    }

    async fn granted(&self) {
        assert_eq!(self.next().await.0, Content::Credit { parts: WINDOW });
    }

    /// Begins a call whose first request has this number of bytes, and returns its requests.
    async fn moved(&self, slot: u32, bytes: usize) -> Requests<u8> {
        let first = Buf::copy_of(&vec![0; bytes], 64).unwrap();
        self.send([Message { body: Some(first), ..call(slot, MOVE, 0, 0) }]).await;
        assert!(matches!(self.next().await.0, Content::Credit { .. }));
        self.sums.moved.lock().take().unwrap()
    }

    fn dropped(&self) -> u64 {
        self.calls.statistics().unexpected
    }
}

type Serving = Serve<PairConnection<SimRuntime, Message>, Sums>;

/// Serves a client with the options that `set` sets, in a task.
fn served(
    runtime: &SimRuntime,
    set: impl FnOnce(Serving) -> Serving,
) -> (Scene, <SimRuntime as Runtime>::Task) {
    let (client, there) = pair_of(runtime.clone());
    let (sums, calls) = <(Sums, ServedCalls)>::default();
    let serving = set(serve(there, sums.clone()).counted_by(&calls)).into_future();
    let server = runtime.spawn(async move { serving.await.unwrap() });
    (Scene { client, sums, calls }, server)
}

fn with_client(test: impl AsyncFnOnce(&SimRuntime, Scene)) {
    with_options(|serving| serving, test);
}

fn with_options(set: impl FnOnce(Serving) -> Serving, test: impl AsyncFnOnce(&SimRuntime, Scene)) {
    let mut sim = Sim::new(3);
    let runtime = sim.runtime();
    sim.run(async {
        let (scene, _server) = served(&runtime, set);
        test(&runtime, scene).await;
    });
}

fn failed(kind: FailureKind) -> Content {
    Content::Failure { kind, may_have_run: true }
}

#[test]
fn requests_in_any_order_are_taken_in_theirs_up_to_their_end() {
    with_client(async |_, scene| {
        scene.send([call(1, SUM, 0, 0)]).await;
        scene.granted().await;
        let end = signal(1, Content::End { parts: 3 });
        scene.send([part(1, 2, &[3]), end, part(1, 0, &[1]), part(1, 1, &[2])]).await;
        assert_eq!(scene.next().await, (Content::Response, vec![3, 6]));
        assert_eq!(scene.dropped(), 0);
    });
}

#[test]
fn a_server_grants_as_its_handler_takes() {
    with_client(async |runtime, scene| {
        scene.send([call(1, MOVE, 0, 0)]).await;
        scene.granted().await;
        scene.send((0..WINDOW).map(|index| part(1, index, &[index as u8]))).await;
        runtime.sleep_until(runtime.now() + MS).await;
        let mut requests = scene.sums.moved.lock().take().unwrap();
        let takes = async |requests: &mut Requests<u8>, numbers: std::ops::Range<u32>| {
            for number in numbers {
                assert_eq!(requests.next().await.unwrap().unwrap(), number as u8);
            }
        };
        takes(&mut requests, 0..WINDOW / 2 - 1).await;
        runtime.sleep_until(runtime.now() + MS).await;
        assert!(scene.client.recv().now_or_never().is_none(), "too early");
        takes(&mut requests, WINDOW / 2 - 1..WINDOW).await;
        // One message for two grants, which came before it was sent.
        assert_eq!(scene.next().await.0, Content::Credit { parts: 2 * WINDOW });
        scene.send([part(1, WINDOW, &[200]), signal(1, Content::End { parts: WINDOW + 1 })]).await;
        assert_eq!(requests.next().await.unwrap().unwrap(), 200);
        assert!(requests.next().await.is_none() && requests.next().await.is_none());
        assert_eq!(scene.dropped(), 0);
    });
}

#[test]
fn requests_that_were_not_granted_are_dropped_and_counted_and_fail_the_stream() {
    for wrong in [
        || vec![part(1, WINDOW, &[1])],
        || vec![part(1, u32::MAX, &[1])],
        || vec![part(1, 1, &[1]), part(1, 1, &[1])],
        || vec![signal(1, Content::End { parts: 1 }), part(1, 1, &[1])],
        || vec![signal(1, Content::End { parts: WINDOW + 1 })],
    ] {
        with_client(async |runtime, scene| {
            scene.send([call(1, SUM, 0, 0)]).await;
            scene.granted().await;
            scene.send(wrong()).await;
            let (content, text) = scene.next().await;
            assert_eq!(content, failed(FailureKind::Malformed));
            assert!(String::from_utf8(text).unwrap().contains("beyond the requests that were granted"));
            assert_eq!(scene.dropped(), 1);
            // The server lives on.
            scene.send([part(1, 0, &[1]), part(9, 0, &[1]), signal(9, Content::End { parts: 0 })]).await;
            runtime.sleep_until(runtime.now() + MS).await;
            assert_eq!(scene.dropped(), 4);
            scene.send([call(2, SUM, 0, 0)]).await;
            scene.granted().await;
        });
    }
}

#[test]
fn a_request_of_another_type_fails_the_stream() {
    with_client(async |_, scene| {
        scene.send([call(1, SUM, 0, 0)]).await;
        scene.granted().await;
        scene.send([part(1, 0, &[1, 2, 3])]).await;
        assert_eq!(scene.next().await.0, failed(FailureKind::Malformed));
    });
}

#[test]
fn a_handler_that_takes_no_more_tells_the_client_and_its_call_goes_on() {
    with_client(async |runtime, scene| {
        scene.send([call(1, LEAVE, 0, 0)]).await;
        scene.granted().await;
        scene.send([part(1, 0, &[1])]).await;
        assert_eq!(scene.next().await.0, Content::Cancel);
        // On their way meanwhile; and a request that was not granted.
        scene.send([part(1, 1, &[1]), part(1, 2, &[1]), part(1, WINDOW, &[1])]).await;
        runtime.sleep_until(runtime.now() + MS).await;
        assert_eq!((scene.dropped(), scene.calls.statistics().under_way), (1, 1));
        assert!(scene.client.recv().now_or_never().is_none());
    });
}

#[test]
fn requests_that_outlive_their_call_fail() {
    for by_cancel in [true, false] {
        with_client(async |runtime, Scene { client, sums, calls }| {
            client.send(call(1, MOVE, 0, 0)).await.unwrap();
            client.recv().await.unwrap();
            client.send(part(1, 0, &[1])).await.unwrap();
            let mut requests = sums.moved.lock().take().unwrap();
            assert_eq!(requests.next().await.unwrap().unwrap(), 1);
            assert!(requests.next().now_or_never().is_none());
            if by_cancel {
                client.send(signal(1, Content::Cancel)).await.unwrap();
                runtime.sleep_until(runtime.now() + MS).await;
                assert_eq!(calls.statistics().cancelled, 1);
            } else {
                drop(client);
            }
            let failure = requests.next().await.unwrap().unwrap_err();
            let kind = if by_cancel { FailureKind::Failed } else { FailureKind::Disconnected };
            assert_eq!(failure.kind(), kind, "{failure}");
            assert!(requests.next().await.is_none());
        });
    }
}

#[test]
fn requests_are_taken_once() {
    with_client(async |_, scene| {
        scene.send([call(1, TWICE, 0, 0)]).await;
        let (content, text) = scene.next().await;
        assert_eq!(content, failed(FailureKind::Failed));
        assert!(String::from_utf8(text).unwrap().contains("taken already"));
    });
}

#[test]
fn a_stream_beyond_the_bytes_that_may_wait_fails_and_others_go_on() {
    let set = |serving: Serving| serving.waiting_bytes(BYTES);
    with_options(set, async |runtime, scene| {
        let settle = || runtime.sleep_until(runtime.now() + MS);
        let mut kept = scene.moved(1, 0).await;
        let mut greedy = scene.moved(2, 0).await;
        // One beyond the limit is taken, as no other waits.
        scene.send([part(2, 0, &vec![7; BYTES + 1])]).await;
        settle().await;
        greedy.next().await.unwrap().unwrap_err();
        assert_eq!(scene.next().await.0, Content::Cancel, "no number");

        let mut greedy = scene.moved(3, 0).await;
        // Room that was given back is there again.
        scene.send([part(1, 0, &[1]), part(3, 0, &vec![0; BYTES - 2]), part(1, 1, &[2])]).await;
        settle().await;
        assert!(scene.client.recv().now_or_never().is_none());
        scene.send([part(3, 1, &[3])]).await;
        assert_eq!(scene.next().await.0, Content::Cancel);
        let failure = greedy.next().await.unwrap().unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Overloaded, "{failure}");
        // Another stream has the room, and goes on.
        scene.send([part(1, 2, &[4]), signal(1, Content::End { parts: 3 })]).await;
        for number in [1, 2, 4] {
            assert_eq!(kept.next().await.unwrap().unwrap(), number);
        }
        assert!(kept.next().await.is_none());
        // On its way as the stream failed.
        scene.send([part(3, 2, &[5])]).await;
        settle().await;
        assert_eq!(scene.dropped(), 0);
    });
}

#[test]
fn connections_share_the_bytes_that_may_wait_and_give_back_those_of_each_call() {
    let mut sim = Sim::new(3);
    let runtime = sim.runtime();
    sim.run(async {
        let settle = || runtime.sleep_until(runtime.now() + MS);
        let together = WaitingBytes::new(BYTES);
        let [(one, _one), (other, _other)] =
            [(); 2].map(|()| served(&runtime, |serving| serving.waiting_with(&together)));
        // The first request waits for the others.
        let _held = one.moved(1, BYTES / 2).await;
        let mut stream = other.moved(1, 1).await;
        other.send([part(1, 0, &vec![0; BYTES / 2])]).await;
        assert_eq!(other.next().await.0, Content::Cancel);
        let failure = stream.next().await.unwrap().unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Overloaded, "{failure}");
        assert!(failure.text().contains("Serve::waiting_with"), "{failure}");
        assert_eq!(together.bytes(), BYTES / 2);

        // A first request without room for it fails its stream, of which nothing is granted.
        let first = Buf::copy_of(&vec![0; BYTES / 2 + 1], 64).unwrap();
        other.send([Message { body: Some(first), ..call(2, MOVE, 0, 0) }]).await;
        settle().await;
        let mut refused = other.sums.moved.lock().take().unwrap();
        assert_eq!(refused.next().await.unwrap().unwrap_err().kind(), FailureKind::Overloaded);
        assert!(other.client.recv().now_or_never().is_none());

        one.send([part(1, 0, &vec![1; BYTES / 4]), signal(1, Content::Cancel)]).await;
        settle().await;
        assert_eq!(together.bytes(), 0);
        let mut next = other.moved(3, BYTES).await;
        other.send([signal(3, Content::End { parts: 0 })]).await;
        assert!(next.next().await.is_none());
        assert_eq!(together.bytes(), 0);
    });
}
